# lib/expr
