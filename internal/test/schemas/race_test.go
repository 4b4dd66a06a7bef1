//go:build race

package schemas_test

// usual is how many arguments are judged by default: the race detector makes each ten times as dear, and has little to find here.
const usual = 30_000
