package metrics_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDocumentedMetrics: docs/daemon.md has every metric with its labels, and no others.
func TestDocumentedMetrics(t *testing.T) {
	t.Parallel()
	docs, err := os.ReadFile("../../docs/daemon.md")
	require.NoError(t, err)
	var documented, written []string
	for _, line := range lines(each(t)) {
		name, labels, _ := strings.Cut(line[:strings.LastIndex(line, " ")], "{")
		name = strings.TrimSuffix(strings.TrimSuffix(name, "_sum"), "_count")
		written = append(written, name+" "+regexp.MustCompile(`="[^"]*"|}`).ReplaceAllString(labels, ""))
	}
	slices.Sort(written)
	for _, row := range regexp.MustCompile("(?m)^\\| `(grapnel_[a-z_]+)` \\| ([^|]*)\\|").FindAllStringSubmatch(string(docs), -1) {
		labels := strings.Split(regexp.MustCompile("[^a-z,]").ReplaceAllString(row[2], ""), ",")
		slices.Sort(labels)
		documented = append(documented, row[1]+" "+strings.Join(labels, ","))
	}
	slices.Sort(documented)
	assert.Equal(t, slices.Compact(written), documented)
}
