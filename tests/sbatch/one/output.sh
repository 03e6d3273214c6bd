#!/bin/bash
#SBATCH -t 10 --output=logs/%x-%5j-%q%%"`id`"_%u%b.out --error=%A_%3a.err --open-mode=append
true
