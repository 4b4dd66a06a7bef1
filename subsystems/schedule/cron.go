package schedule

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// timer says when a cron line is due.
type timer struct {
	line cron.Schedule
	zone *time.Location
}

// fields are the fields of a cron line, with what each may hold.
var fields = [...]string{"minute (0-59)", "hour (0-23)", "day of the month (1-31)", "month (1-12 or jan-dec)", "day of the week (0-6 or sun-sat)"}

// parse reads a cron line of five fields, or @daily and its relatives. zone is an IANA name;
// "" is local.
func parse(line, zone string, local *time.Location) (timer, error) {
	t := timer{zone: local}
	var err error
	if zone != "" {
		if t.zone, err = time.LoadLocation(zone); err != nil || zone == "Local" {
			return t, fmt.Errorf("there is no time zone %.60q; name one as in Europe/Berlin, or UTC", zone)
		}
	}
	if strings.Contains(line, "TZ=") {
		return t, errors.New("a cron line names no time zone here; give the zone beside it, with --tz")
	}
	if t.line, err = cron.ParseStandard(line); err != nil {
		return t, wrongLine(line, err)
	}
	if err := meaningless(line); err != nil {
		return t, err
	}
	if every, ok := t.line.(cron.ConstantDelaySchedule); ok && (every.Delay < time.Minute || every.Delay > longest) {
		return t, fmt.Errorf("the line %.80q is due every %v; a minute is the least, and a year of 366 days the most", line, every.Delay)
	}
	return t, nil
}

// longest is the most that @every may have.
const longest = 366 * 24 * time.Hour

// sizes are how many values each field has.
var sizes = [...]int{60, 24, 31, 12, 7}

// meaningless returns an error for what the library takes and nobody means: a list with nothing in it, and a step that is larger
// than its field, which would run as if it were the field's size.
func meaningless(line string) error {
	words := strings.Fields(line)
	if len(words) != len(fields) {
		return nil
	}
	for i, word := range words {
		for item := range strings.SplitSeq(word, ",") {
			_, step, stepped := strings.Cut(item, "/")
			n, err := strconv.Atoi(step)
			switch {
			case item == "":
				return fmt.Errorf("the cron line %.80q is wrong: the %s is %.40q, and nothing stands beside a comma", line, fields[i], word)
			case stepped && err == nil && n >= sizes[i]:
				return fmt.Errorf("the cron line %.80q is wrong: the %s is %.40q, and a step of %d never comes within it; @every takes longer times", line, fields[i], word, n)
			}
		}
	}
	return nil
}

// wrongLine names the field that is wrong.
func wrongLine(line string, cause error) error {
	const hint = `write five fields, as in "0 7 * * 1-5" for seven o'clock on workdays, or @hourly, @daily, @weekly, @monthly, @every 90m`
	words := strings.Fields(line)
	if len(words) != len(fields) {
		if strings.HasPrefix(line, "@") {
			return fmt.Errorf("the cron line %.80q is wrong: %w; %s", line, cause, hint)
		}
		return fmt.Errorf("the cron line %.80q has not %d fields, but %d: %s; %s", line, len(fields), len(words), strings.Join(fields[:], ", "), hint)
	}
	for i, word := range words {
		alone := [...]string{"*", "*", "*", "*", "*"}
		alone[i] = word
		if _, err := cron.ParseStandard(strings.Join(alone[:], " ")); err != nil {
			return fmt.Errorf("the cron line %.80q is wrong: the %s is %.40q: %w; %s", line, fields[i], word, err, hint)
		}
	}
	return fmt.Errorf("the cron line %.80q is wrong: %w; %s", line, cause, hint)
}

// anyHour is the bit by which the library marks a field that is * or */n.
const anyHour = 1 << 63

// next returns the first time after the given one at which the line is due; zero if there is none
// within five years.
//
// A line that names hours follows the clock on the wall: a time that the clock skips in spring is
// due when the clock has jumped, and one that comes twice in autumn is due once. All other lines
// follow the time that passes.
func (t timer) next(after time.Time) time.Time {
	spec, ok := t.line.(*cron.SpecSchedule)
	if !ok {
		return t.line.Next(after)
	}
	if spec.Hour&anyHour != 0 {
		own := *spec
		own.Location = t.zone
		return own.Next(after.In(t.zone))
	}
	wall := *spec
	wall.Location = time.UTC
	local := after.In(t.zone)
	// An hour earlier, because that wall may come again.
	at := onWall(local).Add(-time.Hour)
	for {
		if at = wall.Next(at); at.IsZero() {
			return at
		}
		if due := t.fromWall(at); due.After(after) {
			return due
		}
	}
}

// lately returns the first time at which the line is due, or was within the last minute, though not before it was created. @every
// counts from now.
func (t timer) lately(now, created time.Time) time.Time {
	from := now.Add(-inTime)
	if _, every := t.line.(cron.ConstantDelaySchedule); every {
		from = now
	}
	if from.Before(created) && created.Before(now) {
		from = created
	}
	return t.next(from)
}

// onWall returns what the clock shows, as a time in UTC.
func onWall(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

// fromWall returns the first time at which the clock of the zone shows at; if it skips that, the
// first moment behind the gap.
func (t timer) fromWall(at time.Time) time.Time {
	due := time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), 0, 0, t.zone)
	if !onWall(due).Equal(at) {
		start, end := due.ZoneBounds()
		if onWall(due).Before(at) {
			return end
		}
		return start
	}
	if start, _ := due.ZoneBounds(); !start.IsZero() {
		_, now := due.Zone()
		_, before := start.Add(-time.Second).Zone()
		if first := due.Add(time.Duration(now-before) * time.Second); before > now && first.Before(start) {
			return first
		}
	}
	return due
}
