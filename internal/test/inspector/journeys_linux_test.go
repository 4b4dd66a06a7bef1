package inspector_test

import "testing"

// quiet is a model that says one thing.
const quiet = "rules:\n- {when: always, say: Hello.}\n"

func TestDoor(t *testing.T) {
	s := serve(t, map[string]string{"model.yaml": quiet})
	s.play("door", nil)
}
