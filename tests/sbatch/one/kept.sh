#!/bin/bash
#SBATCH --account=a --acctg-freq=30 --begin=now+1hour --comment=c --constraint=ib --contiguous
#SBATCH --core-spec=2 --exclude=n1 --licenses=matlab:2 --mail-type=END,FAIL --mail-user=a@b.org
#SBATCH --mem-per-cpu=4G --nice --nodelist=n[2-3] --oversubscribe --partition=p1,p2 --prefer=fast
#SBATCH --priority=10 --qos=q --reservation=r --switches=1@12:00:00 --threads-per-core=1
#SBATCH --time=1-12 --time-min=60 --tmp=10G --wckey=w --deadline=now+3days --gpu-freq=high --bb=x
#SBATCH --nodes=2 --mcs-label=m --network=n
./train
