//go:build !race

package schemas_test

// usual is how many arguments are judged by default.
const usual = 100_000
