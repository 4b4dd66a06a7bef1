package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// row is a line of a table: what there is, how it comes about, and how much.
type row struct{ what, how, total string }

// tables returns the tables as Markdown.
func tables() string {
	var b strings.Builder
	section(&b, "Rows and bytes", []string{"stored", "how many", "bytes"}, stored())
	section(&b, "Each second", []string{"", "how it comes about", "a second"}, rates())
	section(&b, "Connections", []string{"", "how it comes about", "connections"}, backends())
	b.WriteString("### What breaks first\n\n| limit | load | one primary | share | holds until | then |\n|---|---|---|---|---|---|\n")
	for _, l := range limits() {
		fmt.Fprintf(&b, "| %s | %s | %s | %.0f %% | %.1f times this load | %s |\n", l.what, quantity(l.load, l.unit), quantity(l.capacity, l.unit), 100*l.share(), l.until(), l.then)
	}
	b.WriteString("\n### What the tables are made of\n\n| figure | value | from |\n|---|---|---|\n")
	for _, i := range inputs {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", i.what, quantity(i.value, i.unit), source(i.from))
	}
	return b.String()
}

// source is where a figure comes from, without what stands there.
func source(from string) string {
	file, found := strings.CutPrefix(from, in)
	if !found {
		return from
	}
	file, _, _ = strings.Cut(file, ": ")
	return "`" + file + "`"
}

func section(b *strings.Builder, title string, heads []string, rows []row) {
	fmt.Fprintf(b, "### %s\n\n| %s |\n|---|---|---|\n", title, strings.Join(heads, " | "))
	for _, r := range rows {
		fmt.Fprintf(b, "| %s | %s | %s |\n", r.what, r.how, r.total)
	}
	b.WriteString("\n")
}

// The quantities that several tables use.

func turnRate() float64 { return concurrent.value / turnTakes.value }
func nodes() float64    { return concurrent.value / turnsPerNode.value }
func messages() float64 { return conversations.value * messagesPer.value }

// perNode is the connections of a daemon.
func perNode() float64 {
	return poolSize.value + writersSize.value + storesSize.value + listenerSize.value
}

// perTurn is a quantity of a turn, of which first is for a turn with one call.
func perTurn(first, further input) float64 {
	return first.value + (callsPerTurn.value-1)*further.value
}

func writeRate() float64  { return turnRate() * perTurn(writesFirstCall, writesFurther) }
func walPerTurn() float64 { return perTurn(walFirstCall, walFurtherCall) }
func eventsPerDay() float64 {
	return turnRate() * 24 * 60 * 60 * eventsSize.value
}

// stored has the tables of the database.
func stored() []row {
	rows := []struct {
		what        string
		count, each float64
		of          string // what is counted, if what does not say it
	}{
		{"conversations", conversations.value, conversationSize.value, ""},
		{"messages", messages(), messageSize.value, ""},
		{"search index", messages(), wordSize.value, ""},
		{"events of all turns so far", conversations.value * turnsPer.value, eventsSize.value, "turns"},
		{"events, if every hour were the busiest", eventsPerDay() * eventDays.value / eventsSize.value, eventsSize.value, "turns"},
		{"journal of the running turns", concurrent.value * perTurn(entriesFirstCall, entriesFurther), messageSize.value, "entries"},
		{"daemons", nodes(), nodeSize.value, ""},
	}
	out := []row{{"all conversations, in the answer of List", quantity(conversations.value, "") + " of " + quantity(listedSize.value, "B"), quantity(conversations.value*listedSize.value, "B")}}
	for _, r := range rows {
		how := strings.TrimSpace(quantity(r.count, "") + " " + r.of)
		out = append(out, row{r.what, how + " of " + quantity(r.each, "B"), quantity(r.count*r.each, "B")})
	}
	return out
}

// rates has what happens in a second.
func rates() []row {
	elsewhere := 1 - 1/nodes()
	return []row{
		{"turns", fmt.Sprintf("%s turns of %s", quantity(concurrent.value, ""), quantity(turnTakes.value, "s")), quantity(turnRate(), "/s")},
		{"writes", fmt.Sprintf("%s a turn", quantity(perTurn(writesFirstCall, writesFurther), "")), quantity(writeRate(), "/s")},
		{"write-ahead log", fmt.Sprintf("%s a turn; %s a day", quantity(walPerTurn(), "B"), quantity(turnRate()*walPerTurn()*24*60*60, "B")), quantity(turnRate()*walPerTurn(), "B/s")},
		{"events that are kept", fmt.Sprintf("%s a turn; %s a day", quantity(eventsSize.value, "B"), quantity(eventsPerDay(), "B")), quantity(turnRate()*eventsSize.value, "B/s")},
		{"beats", fmt.Sprintf("%s daemons, one each %s; a renewal of each lease would be %s", quantity(nodes(), ""), quantity(beatsEvery.value, "s"), quantity(concurrent.value/renewEvery.value, "/s")), quantity(nodes()/beatsEvery.value, "/s")},
		{"notifications", fmt.Sprintf("%s daemons, at most one each %s", quantity(nodes(), ""), quantity(notifyEvery.value, "s")), quantity(nodes()/notifyEvery.value, "/s")},
		{"deltas", "from daemon to client; the database has none", quantity(concurrent.value*deltasPerTurn.value, "/s")},
		{"deltas from daemon to daemon", fmt.Sprintf("%.0f %% of the clients are at another daemon than their turn; %s each", 100*elsewhere, quantity(deltaSize.value, "B")), quantity(concurrent.value*deltasPerTurn.value*elsewhere*deltaSize.value, "B/s")},
	}
}

// backends has the connections to the database.
func backends() []row {
	each := perNode()
	return []row{
		{"daemons", fmt.Sprintf("%s turns each", quantity(turnsPerNode.value, "")), quantity(nodes(), "")},
		{"connections", fmt.Sprintf("%s for reads, %s for writes, %s for what subsystems keep and %s that wait, for each daemon", quantity(poolSize.value, ""), quantity(writersSize.value, ""), quantity(storesSize.value, ""), quantity(listenerSize.value, "")), quantity(nodes()*each, "")},
		{"daemons without a pooler", fmt.Sprintf("as many as %s connections are enough for", quantity(maxBackends.value, "")), quantity(float64(int(maxBackends.value/each)), "")},
	}
}

// limit is something that one primary can do only so much of.
type limit struct {
	what           string
	load, capacity float64
	unit           string
	// power is that of the load: 2 if a load twice as high is four times as much of this.
	power float64
	then  string
}

func (l limit) share() float64 { return l.load / l.capacity }

// until is how many times the load may be as high.
func (l limit) until() float64 { return math.Pow(1/l.share(), 1/l.power) }

// limits come in the order in which they are reached.
func limits() []limit {
	all := []limit{
		{"notifications, each to all daemons", nodes() * nodes() / notifyEvery.value, deliveries.value, "/s", 2, fmt.Sprintf("with more than %.0f daemons, notify less often, or fan out by NATS", math.Sqrt(deliveries.value*notifyEvery.value))},
		{"writes, each a commit", writeRate(), singleWrites.value, "/s", 1, "group them, which the store does"},
		{"writes in groups", writeRate(), groupedWrites.value, "/s", 1, "more cores for the primary, then one database for each group of projects"},
		{"connections", nodes() * perNode(), maxBackends.value, "", 1, "a pooler for all but the connections that wait"},
		{"journal between two vacuums", turnRate() * entryBloat.value * vacuumEvery.value, journalLimit.value, "B", 1, "vacuum it more often than other tables"},
		{"search for a common word", messages() * commonWord.value / rankedMatches.value, searchTakes.value, "s", 1, "rank the newest 2,000 matches only, which the store does"},
		{"write-ahead log", turnRate() * walPerTurn(), walRate.value, "B/s", 1, "large results into object storage"},
	}
	slices.SortFunc(all, func(a, b limit) int { return cmp.Compare(b.share(), a.share()) })
	return all
}
