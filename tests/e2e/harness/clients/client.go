// Go's net/http, as a program that knows nothing of foyer: the same, over as few connections as it needs.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"os"
	"strings"
)

type task struct {
	Origin, Cookie, Csrf, Name, CaFile string
	Http2                              bool
}

var (
	it          task
	client      *http.Client
	connections int
	protocols   = map[string]bool{}
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func ask(ctx context.Context, method, path, body string, fields map[string]string) *http.Response {
	trace := &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		if !got.Reused {
			connections++
		}
	}}
	var content io.Reader
	if body != "" {
		content = strings.NewReader(body)
	}
	request, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), method, it.Origin+path, content)
	must(err)
	for name, value := range fields {
		request.Header.Set(name, value)
	}
	answer, err := client.Do(request)
	must(err)
	protocols[answer.Proto] = true
	return answer
}

func whole(method, path, body string, fields map[string]string) (int, []byte) {
	answer := ask(context.Background(), method, path, body, fields)
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	must(err)
	return answer.StatusCode, content
}

func main() {
	must(json.Unmarshal([]byte(os.Args[1]), &it))
	pem, err := os.ReadFile(it.CaFile)
	must(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	client = &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: roots},
		ForceAttemptHTTP2: it.Http2,
	}}

	const objects = "/k8s/api/v1/namespaces/demo/configmaps"
	mine := map[string]string{"Cookie": it.Cookie, "Origin": it.Origin}
	unprovenFields := map[string]string{"Cookie": it.Cookie, "Origin": it.Origin, "Content-Type": "application/json"}
	proven := map[string]string{"X-Csrf-Token": it.Csrf}
	for name, value := range unprovenFields {
		proven[name] = value
	}
	report := map[string]any{}

	var small []int
	for range 50 {
		status, _ := whole("GET", objects+"/filler-000000", "", mine)
		if len(small) == 0 || small[len(small)-1] != status {
			small = append(small, status)
		}
	}
	report["small"] = small

	body := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q}}`, it.Name)
	report["unproven"], _ = whole("POST", objects, body, unprovenFields)
	report["created"], _ = whole("POST", objects, body, proven)
	report["twice"], _ = whole("POST", objects, body, proven)

	_, content := whole("GET", objects, "", mine)
	var list struct{ Items []any }
	must(json.Unmarshal(content, &list))
	report["listed"] = len(list.Items) >= 300

	ctx, leave := context.WithCancel(context.Background())
	watch := ask(ctx, "GET", objects+"?watch=1&fieldSelector=metadata.name%3D"+it.Name, "", mine)
	events := bufio.NewReader(watch.Body)
	var watched []string
	for len(watched) < 2 {
		line, err := events.ReadBytes('\n')
		must(err)
		var event struct{ Type string }
		must(json.Unmarshal(line, &event))
		watched = append(watched, event.Type)
		if len(watched) == 1 {
			whole("DELETE", objects+"/"+it.Name, "", proven)
		}
	}
	leave()
	_, err = events.ReadByte()
	if err == context.Canceled {
		report["ending"] = "AbortError"
	}
	report["watched"] = watched

	report["missing"], _ = whole("GET", objects+"/none", "", mine)
	report["odd"], _ = whole("GET", "/k8s/api/v1//pods", "", mine)
	report["nobody"], _ = whole("GET", objects, "", nil)
	report["after"], _ = whole("GET", objects+"/filler-000000", "", mine)
	report["connections"] = connections
	for protocol := range protocols {
		report["protocol"] = protocol
	}
	must(json.NewEncoder(os.Stdout).Encode(report))
}
