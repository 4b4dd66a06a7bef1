package escape

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

//go:embed testdata/escapes.yaml testdata/jobs.yaml
var testdata embed.FS

// Case is one escape or one job. Its texts may have the places that [World.Expand] fills.
type Case struct {
	// Name is unique in its file: lower case, with hyphens.
	Name string `yaml:"name"`
	// Source is where the way comes from: a CVE, a manual page, a test of another project, or own.
	Source string `yaml:"source"`
	// Promise is the one that an escape attacks, one of [Promises]; "" for a job.
	Promise string `yaml:"promise"`
	// Needs are programs in PATH, and features of the kernel that README.md lists.
	Needs []string `yaml:"needs"`
	// Setup is run before, outside and as the user; "" for none.
	Setup string `yaml:"setup"`
	// Environ are further variables of the process that starts the sandbox, as NAME=value.
	Environ []string `yaml:"environ"`
	// Limits are what the runner has to keep the command to; a zero limit is the runner's own.
	Limits Limits `yaml:"limits"`
	// Command is what the attacker runs, by bash -c in the project.
	Command string `yaml:"command"`
	// Again is a second command of the attacker, when the first has ended; "" for none.
	Again string `yaml:"again"`
	// Meanwhile is a command of the attacker that runs beside the others until they have ended; they begin when it has made a file named
	// started in the project. "" for none.
	Meanwhile string `yaml:"meanwhile"`
	// Times is how often Command is run; zero is once.
	Times int `yaml:"times"`
	// Innocent is what the user does afterwards, outside, by bash -c in the project; "" for nothing. Its output counts as output.
	Innocent string `yaml:"innocent"`
	// Reached are the goals of an escape, Wants what a job has to bring about.
	Reached []Condition `yaml:"reached"`
	Wants   []Condition `yaml:"wants"`
	// Inert says why an escape cannot work without a sandbox either.
	Inert Inert `yaml:"inert"`
	// Reduced: at level reduced the escape reaches its goal as well.
	Reduced bool `yaml:"reduced"`
	// Race: whether it does there depends on the order of events.
	Race bool `yaml:"race"`
}

// Inert has one reason for each kind of user for which an escape reaches nothing even without a sandbox; "" if it does.
type Inert struct {
	Root string `yaml:"root"`
	User string `yaml:"user"`
}

// Limits are what a command may use. Zero is no limit of the case's own.
type Limits struct {
	// Memory is of all processes together, in MiB.
	Memory int `yaml:"memory"`
	// Processes is their number at once.
	Processes int `yaml:"processes"`
	// FileSize is of one file, in MiB.
	FileSize int `yaml:"file_size"`
}

// Condition holds or does not hold when the command has ended and its processes are dead. Exactly one of Output, File, Gone, Changed,
// Socket, Lives and Died is set.
type Condition struct {
	// Output: the output of the attacker or of Innocent has this text.
	Output string `yaml:"output"`
	// File: something is at this path, a broken link too.
	File string `yaml:"file"`
	// Has: the file at File is a regular one and has this text.
	Has string `yaml:"has"`
	// Larger: the file at File has more than so many MiB.
	Larger int `yaml:"larger"`
	// Gone: nothing is at this path any more.
	Gone string `yaml:"gone"`
	// Changed: the file at this path, or one below it, has other bytes, mode, owner, times or number of links than before, or is new.
	Changed string `yaml:"changed"`
	// Socket: this place outside has received the world's mark: tcp, tcp6, udp, daemon, daemongram, abstract, leaked or terminal.
	Socket string `yaml:"socket"`
	// Lives: a process with the mark in its arguments lives.
	Lives bool `yaml:"lives"`
	// Died: the process of the user has ended.
	Died bool `yaml:"died"`
	// Exit: the attacker's command has ended with this code.
	Exit *int `yaml:"exit"`
}

// Promises are those of the sandbox that escapes attack.
func Promises() []string {
	return []string{
		"the rest is read-only", "keys are hidden", "/tmp and /dev/shm are private", "the daemon's socket is out of reach",
		"other processes are hidden", "no terminal", "no inherited descriptors", "the environment is an allow-list", "no network",
		"families of sockets", "system calls", "no privileges", "nothing is left behind", "limits", "protected paths of the project",
		"repositories run nothing", "caches are the user's", "cleaning follows no links",
	}
}

// Escapes returns all escapes, in the order of their file.
func Escapes() ([]Case, error) {
	cases, err := load("testdata/escapes.yaml")
	for _, c := range cases {
		if !slices.Contains(Promises(), c.Promise) || c.Source == "" || len(c.Reached) == 0 || len(c.Wants) > 0 {
			err = errors.Join(err, fmt.Errorf("escape %s: wants one of the promises, a source and goals", c.Name))
		}
	}
	return cases, err
}

// Jobs returns all ordinary jobs, in the order of their file.
func Jobs() ([]Case, error) {
	cases, err := load("testdata/jobs.yaml")
	for _, c := range cases {
		if c.Promise != "" || len(c.Wants) == 0 || len(c.Reached) > 0 || c.Inert != (Inert{}) {
			err = errors.Join(err, fmt.Errorf("job %s: has wants, and nothing of an escape", c.Name))
		}
	}
	return cases, err
}

func load(name string) ([]Case, error) {
	data, err := testdata.ReadFile(name)
	if err != nil {
		return nil, err
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	var out []Case
	if err := dec.Decode(&out); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var problems []error
	seen := map[string]bool{}
	for _, c := range out {
		if seen[c.Name] || c.Name == "" || c.Command == "" {
			problems = append(problems, fmt.Errorf("%s: %q is there twice, or has no name or no command", name, c.Name))
		}
		seen[c.Name] = true
		for _, cond := range slices.Concat(c.Reached, c.Wants) {
			if cond.kinds() != 1 {
				problems = append(problems, fmt.Errorf("%s: %s: %+v wants one kind of condition", name, c.Name, cond))
			}
		}
	}
	return out, errors.Join(problems...)
}

// kinds counts what the condition asks for.
func (c *Condition) kinds() (n int) {
	for _, set := range []bool{c.Output != "", c.File != "", c.Gone != "", c.Changed != "", c.Socket != "", c.Lives, c.Died, c.Exit != nil} {
		if set {
			n++
		}
	}
	return n
}
