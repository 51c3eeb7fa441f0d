package commands

import "net/http"

// exchange makes a request. The answer's body ends with the request's context at the latest: that of a 101 would be the bare
// connection, which goes on, so it is closed and taken for empty.
func exchange(client *http.Client, r *http.Request) (*http.Response, error) {
	answer, err := client.Do(r)
	if err == nil && answer.StatusCode == http.StatusSwitchingProtocols {
		answer.Body.Close()
		answer.Body = http.NoBody
	}
	return answer, err
}
