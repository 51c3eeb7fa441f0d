package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// post sends an object to a path of the server's management API, below /manage/v1.
func (s *server) post(path string, object map[string]any) error {
	raw, err := json.Marshal(object)
	if err != nil {
		return err
	}
	r, err := http.NewRequest(http.MethodPost, "http://"+s.address+"/manage/v1"+path, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer dev-key")
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode/100 != 2 {
		text, _ := io.ReadAll(answer.Body)
		return fmt.Errorf("POST %s was answered %d: %s", path, answer.StatusCode, text)
	}
	return nil
}
