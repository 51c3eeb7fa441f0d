package sample

import (
	"bytes"
	"fmt"
	"time"

	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/hropen"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/schemas"
)

// DocumentToken ends the public URL of the document of a test export. It is no secret: everybody may have that document,
// which is the same at every gateway.
const DocumentToken = "document-of-the-test-export-AAAAAAAAAAAAAAA"

const (
	documentName = "test-export.pdf"
	documentType = "application/pdf"
)

// Resume returns the document of a test export.
func Resume() (content []byte, mimeType, fileName string) {
	raw, err := files.ReadFile("documents/resume.pdf")
	if err != nil {
		panic(err) // it is a part of the program
	}
	return raw, documentType, documentName
}

// Export makes the export that a test of an integration sends, as a received one with the UUID id would go out in a
// document mode. Its candidate is invented, and says so; its one document is at documentURL.
func Export(names webhook.Names, id, documentURL string, mode model.DocumentMode, now time.Time) (*model.Export, error) {
	candidate := &model.Candidate{
		ID: id, Name: model.Name{Given: "Test", Family: "Export"}, Email: []string{"test-export@example.com"},
		ApplyDate: now.UTC().Format(time.DateOnly),
	}
	application := hropen.Application{
		JobApplication: &model.JobApplication{ID: id,
			Status: model.Status{Name: "Test of the integration", EnteredAt: now}},
		Job: &model.Job{ID: "test-job", Title: "Test of the integration", URI: "https://service.example/jobs/test-job"},
		Attachments: []hropen.Attachment{
			{ID: "test-document", Descriptions: []string{"Resume"}, URL: documentURL},
		},
	}
	body, err := hropen.Build(names, candidate, []hropen.Application{application})
	if err == nil && mode == model.Inline {
		body, err = inlined(body, documentURL)
	}
	if err != nil {
		return nil, fmt.Errorf("making a test export: %w", err)
	}
	return &model.Export{Key: id, Keyed: true, Body: body, Link: []byte("https://service.example/candidates/" + id),
		ExportContext: []byte("test-job")}, nil
}

// inlined puts the document into a body, as internal/documents does.
func inlined(body []byte, url string) ([]byte, error) {
	parsed, err := schemas.Guard(body)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = parsed.RewriteTo(&out, body, []string{url}, func(int) error {
		out.WriteString(documents.DocumentMember)
		content, mimeType, fileName := Resume()
		return documents.EncodeObject(&out, bytes.NewReader(content), int64(len(content)), mimeType, fileName)
	})
	return out.Bytes(), err
}
