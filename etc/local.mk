# etc: what is installed as it is: examples and the sandbox.
EXTRA_DIST += etc/sandbox/sandbox
