package supervisor

import (
	"os"
	"strconv"
	"strings"
)

// Helper returns the process that starts the commands. It starts it if there is none.
func (s *Supervisor) Helper() (Helper, error) {
	h, err := s.running()
	if err != nil {
		return Helper{}, err
	}
	pid := h.cmd.Process.Pid
	began, _ := beganAt(pid)
	return Helper{pid, began}, nil
}

func (h Helper) runs() bool {
	if h.Pid <= 0 {
		return false
	}
	began, ok := beganAt(h.Pid)
	return ok && began == h.Began
}

// beganAt returns when a process began, in ticks since the machine did (proc_pid_stat(5)); false if it has ended.
func beganAt(pid int) (string, bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", false
	}
	fields := strings.Fields(string(data)[strings.LastIndexByte(string(data), ')')+1:])
	if len(fields) < 20 || fields[0] == "Z" {
		return "", false
	}
	return fields[19], true
}
