package main

// programs are what the tests start by name.
func programs() map[string]func() {
	return map[string]func(){"grapnel": main, "grapnel-hasty": grapnelHasty, "grapnel-local": grapnelLocal, "grapnel-visitor": grapnelVisitor}
}
