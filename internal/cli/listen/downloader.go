package listen

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gabriel-vasile/mimetype"

	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/schemas"
)

const (
	// maxDownload is the most a document may have on the wire, where base64 makes it a third larger.
	maxDownload = 100 << 20
	// maxDownloads is how many are under way at once.
	maxDownloads = 16
)

// downloader fetches the documents of exports from the URLs in the body, as a partner would. It is for this sample;
// hiregate itself fetches through internal/egress.
type downloader struct {
	client   *http.Client
	slots    chan struct{}
	patience time.Duration // how long one document is tried
	pause    time.Duration // between tries, unless the answer names another one
}

func newDownloader() *downloader {
	return &downloader{
		client: &http.Client{
			Timeout:       time.Minute,
			Transport:     &http.Transport{MaxIdleConnsPerHost: maxDownloads, IdleConnTimeout: 30 * time.Second},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		slots:    make(chan struct{}, maxDownloads),
		patience: time.Minute,
		pause:    time.Second,
	}
}

// all downloads the document of each attachment, into folder unless that is empty.
func (d *downloader) all(ctx context.Context, attachments []schemas.Attachment, folder string) []Download {
	got := make([]Download, len(attachments))
	var workers sync.WaitGroup
	for i, a := range attachments {
		workers.Go(func() { got[i] = d.one(ctx, a.URL, folder, "document-"+strconv.Itoa(i+1)) })
	}
	workers.Wait()
	return got
}

// later is an answer that asks for another try.
type later struct {
	after time.Duration // 0: at any time
	error
}

func (d *downloader) one(ctx context.Context, url, folder, name string) Download {
	for till := time.Now().Add(d.patience); ; {
		got, err := d.try(ctx, url, folder, name)
		if err == nil {
			return got
		}
		failure := Download{Error: err.Error()}
		again, ok := errors.AsType[later](err)
		if !ok {
			return failure
		}
		wait := max(again.after, d.pause)
		if time.Now().Add(wait).After(till) {
			return failure
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return failure
		}
	}
}

func (d *downloader) try(ctx context.Context, url, folder, name string) (Download, error) {
	select {
	case d.slots <- struct{}{}:
		defer func() { <-d.slots }()
	case <-ctx.Done():
		return Download{}, errors.New("interrupted")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return Download{}, errors.New("its URL is invalid")
	}
	req.Header.Set("Accept", "application/json")
	resp, err := d.client.Do(req)
	switch {
	case ctx.Err() != nil:
		return Download{}, errors.New("interrupted")
	case err != nil:
		return Download{}, terminal.Cause(err)
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
		return receive(resp, folder, name)
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		after := webhook.RetryAfter(resp.Header.Get("Retry-After"), time.Now())
		return Download{}, later{after: after, error: errors.New(terminal.StatusText(resp.StatusCode))}
	default:
		return Download{}, errors.New(terminal.StatusText(resp.StatusCode))
	}
}

// receive reads a Document object, or the file itself if the answer is not JSON.
func receive(resp *http.Response, folder, name string) (got Download, err error) {
	body := http.MaxBytesReader(nil, resp.Body, maxDownload)
	got.MIMEType, _, _ = strings.Cut(resp.Header.Get("Content-Type"), ";")
	err = save(folder, name, func(w io.Writer) (string, error) {
		file := func(r io.Reader) (err error) {
			got.Bytes, err = io.Copy(w, r)
			return err
		}
		if got.MIMEType == "application/json" {
			got.MIMEType, _, err = documents.DecodeObject(body, file)
		} else {
			err = file(body)
		}
		if err != nil {
			return "", terminal.Cause(err)
		}
		return extension(got.MIMEType), nil
	})
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return Download{}, errors.New("larger than 100 MiB")
	}
	if err != nil {
		return Download{}, err
	}
	return got, nil
}

func extension(mimeType string) string {
	if m := mimetype.Lookup(mimeType); m != nil {
		return m.Extension()
	}
	return ""
}
