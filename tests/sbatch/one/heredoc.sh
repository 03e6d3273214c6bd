#!/bin/bash
#SBATCH --time=20
cat >config.yaml <<'EOF'
run: |
  a: "$HOME"

	tabs: stay
EOF
cat >other.sh <<EOF
#!/bin/bash
#SBATCH --nodes=64
./other
EOF
sbatch other.sh
