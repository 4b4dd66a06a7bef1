// Package wire is what the adapters of vendors share: one request over HTTP with limits of
// time and size, strict reading of the events of its response, errors of servers in all
// their spellings, secrets hidden in texts, and values that servers write loosely.
//
//	s, err := wire.NewServer(wire.Config{Vendor: "acme", BaseURL: "https://api.acme.test/v1", Key: key})
//	if err != nil {
//		return err // wraps provider.ErrOptions
//	}
//	stream, err := s.Open(ctx, s.URL("chat"), body)
//	if err != nil {
//		return err
//	}
//	defer stream.Close()
//	for {
//		event, err := stream.Next()
//		…
//	}
//
// All errors begin with the vendor's name, have a class and quote no secret. Nothing is
// retried.
package wire
