package limits

// ExceededForTest looks once.
func ExceededForTest(root int, l Limits) string { return exceeded(root, l) }
