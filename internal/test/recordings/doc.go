// Package recordings has answers of real servers, from public sources, and holds adapters to
// them. Nothing in it was written by hand: testdata/manifest.json says for each recording where
// it was published, under which licence, and when it was made. Package main in trim wrote most
// of it.
//
// [Check] is the test of an adapter:
//
//	func TestRecordings(t *testing.T) {
//		recordings.Check(t, recordings.Chat, func(base string, client *http.Client) provider.Provider {
//			return openai.New(&openai.Options{BaseURL: base + "/v1", APIKey: "key", Model: "m", Client: client})
//		})
//	}
//
// It reads each recording with the adapter, in pieces of several sizes, and compares the reply
// with what a small reader of this package finds in the same bytes. The readers share no code
// with adapters.
package recordings
