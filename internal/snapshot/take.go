package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/internal/gitignore"
)

// Take makes a snapshot of the project as it is. Files that change while it runs are kept in one of their states, or left out.
// A first snapshot reads every file; a later one reads what changed. Its error is [ErrTooLarge], that of ctx, or one of the store or the
// project; then there is no new snapshot, and nothing is broken.
func (s *Store) Take(ctx context.Context) (id ID, report Report, err error) {
	err = s.exclusive(ctx, func() error {
		id, report, err = s.take(ctx)
		return err
	})
	return id, report, err
}

func (s *Store) take(ctx context.Context) (ID, Report, error) {
	if err := s.newest(); err != nil {
		return "", Report{}, err
	}
	m, copied, err := s.walk(ctx)
	if err != nil {
		return "", Report{}, err
	}
	report := Report{Entries: len(m.Entries), Copied: copied}
	for _, l := range m.LeftOut {
		report.LeftOut = append(report.LeftOut, l.LeftOut)
	}
	if m.like(s.last) && s.touch(s.last.ID) == nil {
		m.ID = s.last.ID
	} else if err := s.save(m); err != nil {
		return "", Report{}, err
	}
	m.index()
	s.last = m
	return m.ID, report, nil
}

// walker is one walk through a project.
type walker struct {
	s     *Store
	ctx   context.Context //nolint:containedctx // of one walk
	o     Options
	start time.Time
	own   string // prefix of the temporary files of an interrupted Restore; "" for none
	mount [3]uint64
	out   manifest
	// foreign are the excluded directories.
	foreign []fs.FileInfo

	ignoredBytes int64
	ignoredFiles int
	bufs         [][]byte // one for each file that is read at the same time

	mu       sync.Mutex // over what files of one directory change together
	copied   int64
	gitBytes int64
}

// place is a directory that is walked.
type place struct {
	root    *os.Root
	dir     *os.File // the same
	path    string   // "" for the project
	depth   int
	rules   *gitignore.Rules
	git     bool // .git or below it
	objects bool // .git/objects or below it
	ignored bool
}

// Limits of a walk: how deep directories may be, and how many files are read at the same time.
const (
	maxDepth = 200
	readers  = 4
)

func (s *Store) walk(ctx context.Context) (*manifest, int64, error) {
	root, err := os.OpenRoot(s.project)
	if err != nil {
		return nil, 0, err
	}
	defer root.Close()
	dir, err := root.Open(".")
	if err != nil {
		return nil, 0, err
	}
	defer dir.Close()
	w := &walker{s: s, ctx: ctx, o: s.o, start: time.Now(), own: s.interrupted()}
	for _, dir := range s.o.Exclude {
		if info, err := os.Stat(dir); err == nil {
			w.foreign = append(w.foreign, info)
		}
	}
	for range min(readers, runtime.GOMAXPROCS(0)+1) {
		w.bufs = append(w.bufs, make([]byte, inMemory))
	}
	if w.mount, err = mount(dir); err != nil {
		return nil, 0, err
	}
	if err := w.enter(place{root: root, dir: dir}); err != nil {
		return nil, 0, err
	}
	w.out.sort()
	return &w.out, w.copied, nil
}

// job is a file that has to be read.
type job struct {
	name string
	info fs.FileInfo
	at   entry
	over string // why the file is left out
	size int64
}

// enter walks a directory: first its files, a few at the same time, then the directories in it.
func (w *walker) enter(p place) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	names, err := w.names(p)
	if err != nil {
		return err
	}
	if slices.Contains(names, ignoreFile) && !p.git {
		w.ignore(&p)
	}
	var dirs []job
	var jobs []*job
	for _, name := range names {
		info, err := p.root.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		full := path.Join(p.path, name)
		if err != nil {
			w.leave(full, 0, reason(err))
			continue
		}
		if w.own != "" && strings.HasPrefix(name, w.own) && !info.IsDir() {
			if err := p.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			continue
		}
		e := entry{Path: full, Mode: info.Mode() & kept, Stat: statOf(info)}
		switch {
		case info.IsDir():
			e.Kind = directory
			dirs = append(dirs, job{name: name, info: info, at: e})
		case info.Mode().IsRegular():
			e.Kind = file
			if j := w.file(&p, job{name: name, info: info, at: e}); j != nil {
				jobs = append(jobs, j)
			}
		case info.Mode()&fs.ModeSymlink != 0:
			w.link(&p, name, e)
		default:
			w.leave(full, 0, "it is a "+special(info.Mode()))
		}
	}
	if err := w.read(&p, jobs); err != nil {
		return err
	}
	return w.descend(p, dirs)
}

const ignoreFile = ".gitignore"

// ignore adds the rules of a directory. A .gitignore that is no regular file has none.
func (w *walker) ignore(p *place) {
	info, err := p.root.Lstat(ignoreFile)
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	if f, err := openSame(p.root, ignoreFile, info); err == nil {
		p.rules = p.rules.With(f, p.path)
		_ = f.Close()
	}
}

// names lists a directory, sorted, and stops where the project is too large.
func (w *walker) names(p place) ([]string, error) {
	var out []string
	for {
		more, err := p.dir.Readdirnames(1024)
		out = append(out, more...)
		if n := len(w.out.Entries) + len(out); n > w.o.Files {
			return nil, fmt.Errorf("%w: it has more than %d files", ErrTooLarge, w.o.Files)
		}
		if err == io.EOF { //nolint:errorlint // as Readdirnames returns it
			slices.Sort(out)
			return out, nil
		}
		if err != nil {
			if p.path == "" {
				return nil, err
			}
			w.leave(p.path, 0, reason(err))
			return nil, nil
		}
	}
}

func (w *walker) leave(path string, bytes int64, why string) {
	w.out.LeftOut = append(w.out.LeftOut, leftOut{LeftOut: LeftOut{Path: path, Bytes: bytes, Why: why}})
}

func special(m fs.FileMode) string {
	switch {
	case m&fs.ModeNamedPipe != 0:
		return "named pipe"
	case m&fs.ModeSocket != 0:
		return "socket"
	}
	return "device"
}

// reason returns an error without the path, which stands beside it.
func reason(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}

func (w *walker) link(p *place, name string, e entry) {
	target, err := p.root.Readlink(name)
	if err != nil {
		w.leave(e.Path, 0, reason(err))
		return
	}
	e.Kind, e.Mode, e.Content = link, 0, target
	w.out.Entries = append(w.out.Entries, e)
}

// errNoRoom says that an ignored directory does not fit into what ignored files may have.
var errNoRoom = errors.New("ignored files are over their limit")

// room counts an ignored file, and reports whether it fits.
func (w *walker) room(size int64) bool {
	w.ignoredFiles++
	w.ignoredBytes += size
	return w.ignoredFiles <= w.o.IgnoredFiles && w.ignoredBytes <= w.o.IgnoredBytes
}

// object matches the files below .git/objects that git never changes.
var object = regexp.MustCompile(`^(?:[0-9a-f]{38,62}|pack-[0-9a-f]{40,64}\.(?:pack|idx|rev|bitmap|mtimes))$`)

// file adds a file that is as in the last snapshot, or returns the job to read it; nil if it is left out.
func (w *walker) file(p *place, j job) *job {
	e := &j.at
	e.Size = j.info.Size()
	shareable := p.objects && object.MatchString(j.name)
	if e.Size > w.o.FileBytes && !shareable {
		w.leave(e.Path, e.Size, fmt.Sprintf("it is larger than %s", bytes(w.o.FileBytes)))
		return nil
	}
	if !p.ignored && !p.git && p.rules.Match(e.Path, j.name, false) && !w.room(e.Size) {
		w.leave(e.Path, e.Size, w.ignoredWhy())
		w.ignoredFiles, w.ignoredBytes = w.ignoredFiles-1, w.ignoredBytes-e.Size
		return nil
	}
	if old := w.s.last.at(e.Path); old != nil && old.Kind == file && !old.Fresh && old.Size == e.Size {
		is, was := e.Stat, old.Stat
		if strings.HasPrefix(old.Content, linked) {
			is.Change, was.Change = 0, 0 // further links change it
		}
		if is == was {
			e.Content, e.Stat = old.Content, old.Stat
			w.out.Entries = append(w.out.Entries, *e)
			return nil
		}
	}
	if shareable {
		if key, ok := w.s.adopt(p.dir, j.name, j.info); ok {
			e.Content = key
			w.out.Entries = append(w.out.Entries, *e)
			return nil
		}
	}
	return &j
}

func (w *walker) ignoredWhy() string {
	return fmt.Sprintf("it is ignored by .gitignore, and ignored files are kept up to %s and %d files in all", bytes(w.o.IgnoredBytes), w.o.IgnoredFiles)
}

// read puts files of one directory into the store, a few at the same time.
func (w *walker) read(p *place, jobs []*job) error {
	errs := make([]error, len(jobs))
	if len(jobs) == 1 {
		errs[0] = w.one(p, jobs[0], w.bufs[0])
	} else if len(jobs) > 1 {
		var next int
		var all sync.WaitGroup
		for _, buf := range w.bufs {
			all.Go(func() {
				for {
					w.mu.Lock()
					i := next
					next++
					w.mu.Unlock()
					if i >= len(jobs) || w.ctx.Err() != nil {
						return
					}
					errs[i] = w.one(p, jobs[i], buf)
				}
			})
		}
		all.Wait()
	}
	if err := errors.Join(append(errs, w.ctx.Err())...); err != nil {
		return err
	}
	for _, j := range jobs {
		switch {
		case j.over != "":
			w.leave(j.at.Path, j.size, j.over)
		case j.at.Content != "":
			w.out.Entries = append(w.out.Entries, j.at)
		}
	}
	return nil
}

// one reads a file, again if it changes meanwhile. An error is one of the store; one of the file is in j.over.
func (w *walker) one(p *place, j *job, buf []byte) error {
	for try := range 3 {
		if try > 0 {
			info, err := p.root.Lstat(j.name)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || !info.Mode().IsRegular() {
				break
			}
			j.info = info
		}
		f, err := openSame(p.root, j.name, j.info)
		if err != nil {
			if errors.Is(err, errSwapped) {
				continue
			}
			j.over = reason(err)
			return nil
		}
		done, err := w.store(p, j, f, buf, try == 2)
		if err := errors.Join(err, f.Close()); err != nil || done {
			return err
		}
	}
	j.over = "it kept changing"
	return nil
}

// store puts an open file into the store. done is false if the file changed meanwhile, unless last accepts that.
func (w *walker) store(p *place, j *job, f *os.File, buf []byte, last bool) (done bool, err error) {
	limit := w.o.FileBytes
	if p.objects && object.MatchString(j.name) {
		if limit = w.git(j.info.Size()); limit < j.info.Size() {
			j.over, j.size = fmt.Sprintf("git objects that cannot be linked are copied up to %s in all", bytes(w.o.GitBytes)), j.info.Size()
			return true, nil
		}
	}
	key, size, written, err := w.s.put(f, limit, buf)
	if errors.Is(err, errOver) {
		j.over, j.size = fmt.Sprintf("it is larger than %s", bytes(limit)), j.info.Size()
		return true, nil
	}
	if err != nil {
		return true, fmt.Errorf("%q: %w", j.at.Path, err)
	}
	info, err := f.Stat()
	if err != nil {
		return true, err
	}
	before, after := statOf(j.info), statOf(info)
	if before != after && !last {
		return false, nil
	}
	j.at.Content, j.at.Size, j.at.Mode, j.at.Stat = key, size, info.Mode()&kept, after
	j.at.Fresh = before != after || w.fresh(after)
	return true, w.count(written)
}

// git takes what an object needs of the limit of copied git objects, and returns what may be copied.
func (w *walker) git(size int64) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if left := w.o.GitBytes - w.gitBytes; size > left {
		return left
	}
	w.gitBytes += size
	return size
}

func (w *walker) count(written int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.copied += written; w.copied > w.o.Bytes {
		return fmt.Errorf("%w: its files have more than %s", ErrTooLarge, bytes(w.o.Bytes))
	}
	return nil
}

// Clocks of file systems: a file that changed within a tick before it was read may change again without another time.
const (
	tick       = 100 * time.Millisecond
	coarseTick = 2 * time.Second // of file systems whose times are in seconds
)

func (w *walker) fresh(st stat) bool {
	changed := max(st.Change, st.Mtime)
	window := tick
	if st.Change == 0 || changed%int64(time.Second) == 0 {
		window = coarseTick
	}
	return changed > w.start.Add(-window).UnixNano()
}

// descend walks the directories of a directory.
func (w *walker) descend(p place, dirs []job) error {
	for i := range dirs {
		d := &dirs[i]
		if slices.ContainsFunc(w.foreign, func(info fs.FileInfo) bool { return os.SameFile(info, d.info) }) {
			continue
		}
		ignored := !p.ignored && !p.git && d.name != ".git" && p.rules.Match(d.at.Path, d.name, true)
		if ignored && w.stillOver(d) {
			continue
		}
		if err := w.into(p, d, ignored); err != nil {
			return err
		}
	}
	return nil
}

// stillOver leaves a directory out that was over the limit in the last snapshot and seems to be the same.
func (w *walker) stillOver(d *job) bool {
	old := w.s.last.left(d.at.Path)
	if old == nil || !old.Over || old.Stat != d.at.Stat {
		return false
	}
	w.out.LeftOut = append(w.out.LeftOut, *old)
	return true
}

func (w *walker) into(p place, d *job, ignored bool) error {
	sub := place{path: d.at.Path, depth: p.depth + 1, rules: p.rules, ignored: p.ignored || ignored,
		git: p.git || d.name == ".git", objects: p.objects || path.Base(p.path) == ".git" && d.name == "objects"}
	if sub.depth > maxDepth {
		w.leave(sub.path, 0, fmt.Sprintf("it is deeper than %d directories", maxDepth))
		return nil
	}
	var err error
	if sub.root, sub.dir, err = openDir(p.root, d.name, d.info); err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			w.out.Entries = append(w.out.Entries, d.at)
			w.leave(sub.path, 0, reason(err))
		}
		return nil
	}
	defer func() { _, _ = sub.root.Close(), sub.dir.Close() }()
	if at, err := mount(sub.dir); err != nil || at != w.mount {
		w.leave(sub.path, 0, "another file system is mounted there")
		return nil
	}
	if !ignored {
		d.at.Stat = stat{} // times of directories say nothing that a snapshot keeps
		w.out.Entries = append(w.out.Entries, d.at)
		return w.enter(sub)
	}
	return w.intoIgnored(sub, d)
}

// intoIgnored walks an ignored directory if it fits into what ignored files may have.
func (w *walker) intoIgnored(sub place, d *job) error {
	files, size := w.ignoredFiles, w.ignoredBytes
	if err := w.measure(sub.root, sub.dir, sub.depth); err != nil {
		if !errors.Is(err, errNoRoom) {
			return err
		}
		w.out.LeftOut = append(w.out.LeftOut, leftOut{Over: true, Stat: d.at.Stat,
			LeftOut: LeftOut{Path: sub.path, Bytes: w.ignoredBytes - size, Why: w.ignoredWhy()}})
		w.ignoredFiles, w.ignoredBytes = files, size
		return nil
	}
	if _, err := sub.dir.Seek(0, io.SeekStart); err != nil {
		return err
	}
	d.at.Stat = stat{}
	w.out.Entries = append(w.out.Entries, d.at)
	return w.enter(sub)
}

// measure counts what is in an ignored directory. errNoRoom ends it early.
func (w *walker) measure(root *os.Root, dir *os.File, depth int) error {
	names, err := dir.Readdirnames(w.o.IgnoredFiles + 1)
	if err != nil || depth > maxDepth {
		return w.ctx.Err() // what cannot be read is left out later
	}
	for _, name := range names {
		info, err := root.Lstat(name)
		if err != nil {
			continue
		}
		var size int64
		if info.Mode().IsRegular() && info.Size() <= w.o.FileBytes {
			size = info.Size()
		}
		if !w.room(size) {
			return errNoRoom
		}
		if !info.IsDir() {
			continue
		}
		sub, in, err := openDir(root, name, info)
		if err != nil {
			continue
		}
		err = w.measure(sub, in, depth+1)
		if _, _ = sub.Close(), in.Close(); err != nil {
			return err
		}
	}
	return w.ctx.Err()
}

// openDir opens a directory of a directory, if it still is the one of info.
func openDir(root *os.Root, name string, info fs.FileInfo) (*os.Root, *os.File, error) {
	sub, err := root.OpenRoot(name)
	if err != nil {
		return nil, nil, err
	}
	dir, err := sub.Open(".")
	if err != nil {
		return nil, nil, errors.Join(err, sub.Close())
	}
	is, err := dir.Stat()
	if err == nil && !os.SameFile(is, info) {
		err = errSwapped
	}
	if err != nil {
		return nil, nil, errors.Join(err, dir.Close(), sub.Close())
	}
	return sub, dir, nil
}

// bytes writes a size for people.
func bytes(n int64) string {
	switch {
	case n >= 1<<30 && n%(1<<30) == 0:
		return fmt.Sprintf("%d GiB", n>>30)
	case n >= 1<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
