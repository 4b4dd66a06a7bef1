package limits

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// usage sums up the tree below a process, with itself. It stops counting at more than most processes, if most is not 0.
func usage(root, most int) used {
	var u used
	page := int64(os.Getpagesize())
	for queue := []int{root}; len(queue) > 0 && (most == 0 || u.processes <= most); queue = queue[1:] {
		dir := "/proc/" + strconv.Itoa(queue[0])
		own, ok := memory(dir)
		if !ok {
			continue
		}
		u.processes++
		u.memory += own * page
		queue = append(queue, children(dir)...)
	}
	return u
}

// memory returns the pages that a process has of its own; false if it has ended.
func memory(dir string) (pages int64, ok bool) {
	data, err := os.ReadFile(dir + "/statm")
	if err != nil {
		return 0, false
	}
	fields := strings.Fields(string(data))
	if len(fields) < 3 {
		return 0, false
	}
	resident, _ := strconv.ParseInt(fields[1], 10, 64)
	shared, _ := strconv.ParseInt(fields[2], 10, 64)
	return max(0, resident-shared), true
}

// children returns the processes that the threads of a process have started, or inherited.
func children(dir string) (out []int) {
	threads, err := os.ReadDir(dir + "/task")
	if err != nil {
		return nil
	}
	for _, t := range threads {
		data, err := os.ReadFile(dir + "/task/" + t.Name() + "/children")
		if err != nil {
			continue
		}
		for text := range strings.FieldsSeq(string(data)) {
			if pid, err := strconv.Atoi(text); err == nil {
				out = append(out, pid)
			}
		}
	}
	return out
}

// Memory returns the memory of this machine in bytes; 0 if it is not known.
func Memory() int64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0
	}
	return int64(info.Totalram) * int64(info.Unit) //nolint:gosec,unconvert // far below the limit; the types differ between architectures
}
