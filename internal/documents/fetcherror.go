package documents

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// These are the classes of a FetchError.
const (
	ClassURL        = "url"        // not an address that can be fetched
	ClassRefused    = "refused"    // egress does not allow the address
	ClassTooLarge   = "too_large"  // over MaxSize
	ClassEmpty      = "empty"      // no bytes
	ClassRedirect   = "redirect"   // 3xx
	ClassStatus     = "status"     // any other status but 200
	ClassTimeout    = "timeout"    // did not end in time
	ClassCanceled   = "canceled"   // the caller gave up
	ClassConnection = "connection" // no connection, or it broke
	ClassEncoding   = "encoding"   // a Content-Encoding that we don't know
	ClassStore      = "store"      // our own store failed
)

// Verdict says what a failed attempt means for the next one.
type Verdict int

// The verdicts of docs/behaviour.md, "Documents".
const (
	Retry            Verdict = iota // try again until the document's time is over
	GiveUpAfterTries                // give up after GiveUpTries attempts that ended like this
	GiveUp                          // don't try again
)

// GiveUpTries is the number of attempts of GiveUpAfterTries. With Gap between them they take less than a minute.
const GiveUpTries = 3

// FetchError says why a document could not be fetched. The URL of a document is a credential, and errors end up in logs
// and in Temporal's history: so the text has only the status and the host, and the cause can be compared with errors.Is
// but not unwrapped.
type FetchError struct {
	Class  string
	Status int // of the answer, 0 without one or where it does not matter
	Host   string
	cause  error
}

func (e *FetchError) Error() string {
	switch e.Class {
	case ClassURL:
		return "the document's URL is no http or https URL: its service has to send another one"
	case ClassRefused:
		return fmt.Sprintf("nothing was fetched from %s, because egress refuses its address: if it is to be reached, "+
			"allow it with egress allow", e.Host)
	case ClassTooLarge:
		return fmt.Sprintf("the document at %s is larger than %d MiB and was not stored: ask for a smaller file", e.Host,
			MaxSize>>20)
	case ClassEmpty:
		return fmt.Sprintf("%s answered with a document that has no bytes: look at the file at its service, and have the "+
			"candidate exported again", e.Host)
	case ClassRedirect:
		return fmt.Sprintf("%s answered %d, and redirects are not followed: its service has to send the address that "+
			"has the document", e.Host, e.Status)
	case ClassStatus:
		if e.Verdict() != Retry {
			return fmt.Sprintf("%s answered %d instead of the document: the URL is wrong or has ended; have the "+
				"candidate exported again", e.Host, e.Status)
		}
		return fmt.Sprintf("%s answered %d instead of the document: ask those who run it, if that does not pass",
			e.Host, e.Status)
	case ClassTimeout:
		return fmt.Sprintf("%s did not send the whole document in time: look whether it answers, and how slow it is",
			e.Host)
	case ClassCanceled:
		return fmt.Sprintf("the gateway stopped while it fetched the document from %s: it is fetched again", e.Host)
	case ClassConnection:
		return fmt.Sprintf("the connection to %s failed or broke off: look whether it can be reached from the gateway",
			e.Host)
	case ClassEncoding:
		return fmt.Sprintf("%s sent the document with a Content-Encoding that the gateway can't read: it has to send it "+
			"as it is, or with gzip", e.Host)
	default:
		return fmt.Sprintf("the document from %s could not be stored: look into the gateway's log, and at the space on "+
			"its disk", e.Host)
	}
}

// Is reports whether target is among the causes, for example ErrFull or context.Canceled.
func (e *FetchError) Is(target error) bool { return errors.Is(e.cause, target) }

// StoreCause returns the error of our own store, which has nothing of the URL; empty: the error was another one.
func (e *FetchError) StoreCause() string {
	if e.Class != ClassStore {
		return ""
	}
	return e.cause.Error()
}

// Ours reports whether the attempt failed on our side, and not on that of the document's service.
func (e *FetchError) Ours() bool {
	return e.Class == ClassRefused || e.Class == ClassCanceled || e.Class == ClassStore
}

// Verdict says whether to try again.
func (e *FetchError) Verdict() Verdict {
	switch e.Class {
	case ClassURL, ClassRefused, ClassTooLarge:
		return GiveUp
	case ClassEmpty:
		return GiveUpAfterTries
	case ClassStatus:
		if e.Status == http.StatusGone {
			return GiveUp
		}
		if e.Status >= 400 && e.Status < 500 && e.Status != 408 && e.Status != 425 && e.Status != 429 {
			return GiveUpAfterTries
		}
	}
	return Retry
}

// statusError is the error of an answer with another status than 200.
func statusError(status int) *FetchError {
	if status >= 300 && status < 400 {
		return &FetchError{Class: ClassRedirect, Status: status}
	}
	return &FetchError{Class: ClassStatus, Status: status}
}

// newFetchError gives an error its class, unless it has one, and the host.
func newFetchError(ctx context.Context, host string, err error) *FetchError {
	e := new(FetchError)
	if errors.As(err, &e) {
		e.Host = host
		return e
	}
	e = &FetchError{Host: host, cause: err}
	var (
		refused interface{ RefusedByEgress() bool }
		late    interface{ Timeout() bool }
		broken  *sourceError
	)
	switch {
	case errors.Is(err, ErrTooLarge):
		e.Class = ClassTooLarge
	case errors.As(err, &refused) && refused.RefusedByEgress():
		e.Class = ClassRefused
	case errors.Is(ctx.Err(), context.Canceled):
		e.Class = ClassCanceled
	case ctx.Err() != nil, errors.As(err, &late) && late.Timeout():
		e.Class = ClassTimeout
	case errors.As(err, &broken):
		e.Class = ClassConnection
	default:
		e.Class = ClassStore
	}
	return e
}

// Backoff returns the time to wait after a number of failed attempts: 2 s, doubling up to 2 min, ±20 % by rnd from [0,
// 1).
func Backoff(tries int, rnd float64) time.Duration {
	const shortest, longest = 2 * time.Second, 2 * time.Minute
	gap := shortest
	for ; tries > 1 && gap < longest; tries-- {
		gap = min(2*gap, longest)
	}
	return time.Duration(float64(gap) * (0.8 + 0.4*rnd))
}
