// Command attacker makes the system calls of escapes that a shell cannot make: one subcommand for each. It prints "reached: NAME" where
// the call itself is what a sandbox promises to refuse; otherwise its effect shows outside. It ends with 1 if a call was refused. It
// harms nothing: it touches only what it is told to.
package main
