// A server of Go's net/http that knows nothing of payments. It lives as long as its standard input is open.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
)

func main() {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, `{"ok":true}`) })
	mux.HandleFunc("GET /reports/{report}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(map[string]string{
			"report": r.PathValue("report"), "query": r.URL.RawQuery, "payer": r.Header.Get("X-Svc-Payer"),
		})
	})
	mux.HandleFunc("POST /v1/broken", func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, `{"detail":"no model today"}`, http.StatusInternalServerError)
	})
	// More than net/http buffers: it comes in chunks, without a length.
	mux.HandleFunc("POST /v1/long", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprint(w, strings.Repeat(string(body), 10_000))
	})
	mux.HandleFunc("POST /v1/events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, word := range []string{"one", "two", "three"} {
			fmt.Fprintf(w, "data: %s\n\n", word)
			w.(http.Flusher).Flush()
		}
	})
	// It breaks its answer off: net/http closes the connection in the middle of the chunks.
	mux.HandleFunc("POST /v1/panic", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, strings.Repeat("half", 10_000))
		panic(http.ErrAbortHandler)
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Printf("{\"url\":\"http://%s\"}\n", listener.Addr())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	panic(http.Serve(listener, mux))
}
