//go:build !race

package schematest_test

// usual is how many arguments are judged by default.
const usual = 100_000
