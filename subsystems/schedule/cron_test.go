package schedule

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The times at which clocks change are those of the IANA database: in New York on 2026-03-08 at
// 2:00 to 3:00 and on 2026-11-01 at 2:00 to 1:00; in Lord Howe by half an hour.
func TestNextTimes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, line, zone, after string
		want                    []string
	}{
		{"workdays", "0 7 * * 1-5", "UTC", "2026-11-27T08:00:00Z", []string{"2026-11-30T07:00:00Z", "2026-12-01T07:00:00Z"}},
		{"quarters", "*/15 * * * *", "UTC", "2026-11-27T08:00:00Z", []string{"2026-11-27T08:15:00Z", "2026-11-27T08:30:00Z"}},
		{"daily", "@daily", "Europe/Berlin", "2026-11-27T08:00:00Z", []string{"2026-11-27T23:00:00Z", "2026-11-28T23:00:00Z"}},
		{"every", "@every 90m", "UTC", "2026-11-27T08:00:00Z", []string{"2026-11-27T09:30:00Z", "2026-11-27T11:00:00Z"}},
		{"a leap day", "0 0 29 2 *", "UTC", "2026-11-27T08:00:00Z", []string{"2028-02-29T00:00:00Z"}},
		{"a day or a weekday", "0 0 13 * 5", "UTC", "2026-11-10T00:00:00Z", []string{"2026-11-13T00:00:00Z", "2026-11-20T00:00:00Z"}},

		{"a time that the clock skips", "30 2 * * *", "America/New_York", "2026-03-07T12:00:00-05:00",
			[]string{"2026-03-08T03:00:00-04:00", "2026-03-09T02:30:00-04:00"}},
		{"two that it skips are one", "10,30 2 * * *", "America/New_York", "2026-03-08T00:00:00-05:00",
			[]string{"2026-03-08T03:00:00-04:00", "2026-03-09T02:10:00-04:00"}},
		{"behind the gap", "30 3 * * *", "America/New_York", "2026-03-08T00:00:00-05:00", []string{"2026-03-08T03:30:00-04:00"}},
		{"a time that comes twice", "30 1 * * *", "America/New_York", "2026-11-01T00:00:00-04:00",
			[]string{"2026-11-01T01:30:00-04:00", "2026-11-02T01:30:00-05:00"}},
		{"asked between the two", "30 1 * * *", "America/New_York", "2026-11-01T01:45:00-04:00", []string{"2026-11-02T01:30:00-05:00"}},
		{"asked in the second", "30 1 * * *", "America/New_York", "2026-11-01T01:10:00-05:00", []string{"2026-11-02T01:30:00-05:00"}},
		{"every half hour passes on", "*/30 * * * *", "America/New_York", "2026-11-01T01:00:00-04:00",
			[]string{"2026-11-01T01:30:00-04:00", "2026-11-01T01:00:00-05:00", "2026-11-01T01:30:00-05:00", "2026-11-01T02:00:00-05:00"}},
		{"every hour over the gap", "0 * * * *", "America/New_York", "2026-03-08T01:00:00-05:00", []string{"2026-03-08T03:00:00-04:00", "2026-03-08T04:00:00-04:00"}},
		{"half an hour twice", "45 1 * * *", "Australia/Lord_Howe", "2026-04-05T00:00:00+11:00",
			[]string{"2026-04-05T01:45:00+11:00", "2026-04-06T01:45:00+10:30"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			line, err := parse(tt.line, tt.zone, time.UTC)
			require.NoError(t, err)
			at, err := time.Parse(time.RFC3339, tt.after)
			require.NoError(t, err)
			for _, want := range tt.want {
				at = line.next(at)
				wanted, err := time.Parse(time.RFC3339, want)
				require.NoError(t, err)
				assert.True(t, wanted.Equal(at), "got %v, want %v", at, wanted)
			}
		})
	}
}

// A line that names hours is due once on every day, whatever the clocks do.
func TestOnceADay(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Africa/Casablanca", "Pacific/Apia"} {
		for _, text := range []string{"0 0 * * *", "30 1 * * *", "30 2 * * *", "15 3 * * *"} {
			line, err := parse(text, zone, time.UTC)
			require.NoError(t, err)
			at := time.Date(2026, 1, 1, 12, 0, 0, 0, line.zone)
			for day := range 365 {
				next := line.next(at)
				assert.Equal(t, at.In(line.zone).AddDate(0, 0, 1).YearDay(), next.In(line.zone).YearDay(), "%s %s, day %d: %v", zone, text, day, next)
				at = next
			}
		}
	}
}

func TestWrongLines(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"":                   "has not 5 fields, but 0: minute (0-59), hour (0-23)",
		"* * * *":            "has not 5 fields, but 4",
		"0 7 * * 1-5 *":      "has not 5 fields, but 6",
		"60 7 * * *":         `the minute (0-59) is "60"`,
		"0 25 * * *":         `the hour (0-23) is "25"`,
		"0 0 0 * *":          `the day of the month (1-31) is "0"`,
		"0 0 * foo *":        `the month (1-12 or jan-dec) is "foo"`,
		"0 0 * * 8":          `the day of the week (0-6 or sun-sat) is "8"`,
		"@never":             "write five fields",
		"@every 10s":         "a minute is the least",
		"@every 2562047h":    "a year of 366 days the most",
		"*/90 * * * *":       "a step of 90 never comes within it",
		"0 */36 * * *":       "a step of 36",
		"0 0 */40 * *":       "a step of 40",
		"0,,30 * * * *":      "nothing stands beside a comma",
		"0 0 , * 1":          "nothing stands beside a comma",
		"@every -1h":         "a minute is the least",
		"CRON_TZ=UTC @daily": "names no time zone here",
		"TZ=UTC 0 0 * * *":   "names no time zone here",
	} {
		_, err := parse(line, "", time.UTC)
		require.ErrorContains(t, err, want, line)
	}
	_, err := parse("@daily", "Mars/Olympus", time.UTC)
	require.ErrorContains(t, err, `there is no time zone "Mars/Olympus"; name one as in Europe/Berlin`)
	_, err = parse("@daily", "../../etc/passwd", time.UTC)
	require.ErrorContains(t, err, "there is no time zone")
}
