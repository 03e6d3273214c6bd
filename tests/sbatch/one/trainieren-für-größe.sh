#!/bin/bash
#SBATCH --time=20 --comment=größe
echo "Übung: 模型"
