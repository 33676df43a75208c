"""The paper's figures and statements, made anew: one function for each."""
