package documents

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/encrypt"
)

const (
	partSize    = 5 << 20          // bytes of a part of an upload, the least that S3 takes
	rangeSize   = 1 << 20          // bytes of one request when a file is read
	bucketTries = 4                // of each request
	bucketTime  = 30 * time.Second // of a request for a range, for a check or to remove a file, with its tries
	keepTime    = 5 * time.Minute  // of an upload, with its tries
	answerTime  = 15 * time.Second // from the end of a request to the begin of its answer
)

// Bucket says how the bucket of an address s3://bucket/prefix is reached. Empty fields are defaults.
type Bucket struct {
	Endpoint string // such as https://s3.eu-central-1.amazonaws.com. Default: Amazon's
	Region   string // default: us-east-1
	// AccessKey and SecretKey authenticate us. Default: those in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, of the file
	// ~/.aws/credentials (or AWS_SHARED_CREDENTIALS_FILE), or of the role of the machine.
	AccessKey, SecretKey string
	// Encryption at rest, by the server: AES256, or the id of a key of its KMS. Default: its own.
	Encryption string
}

const amazon = "https://s3.amazonaws.com"

// IsBucket reports whether an address is one of a bucket.
func IsBucket(rawURL string) bool {
	scheme, _, ok := strings.Cut(rawURL, "://")
	return ok && strings.EqualFold(scheme, "s3")
}

// bucketAt returns the parts of an address s3://bucket/prefix; the prefix ends in a slash, or is empty.
func bucketAt(rawURL string) (name, prefix string, err error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Host == "" || u.User != nil || u.Port() != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", "", errors.New("the document store is no bucket; write s3://bucket/prefix, or file:///a/folder")
	}
	if prefix = strings.Trim(u.Path, "/"); prefix != "" {
		prefix += "/"
	}
	return u.Host, prefix, nil
}

// Validate returns what is wrong with the options of a bucket, or nil.
func (b Bucket) Validate() error {
	u, err := url.Parse(cmp.Or(b.Endpoint, amazon))
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("endpoint %q: write the address of the object storage without a path, such as "+
			"https://s3.eu-central-1.amazonaws.com", b.Endpoint)
	case (b.AccessKey == "") != (b.SecretKey == ""):
		return errors.New("access_key and secret_key belong together: write both, or neither for the environment's or the machine's")
	}
	return nil
}

// OpenBucket returns the document store in the bucket at rawURL, s3://bucket/prefix. It makes no request; Prepare does.
func OpenBucket(rawURL string, b Bucket) (*Files, error) {
	name, prefix, err := bucketAt(rawURL)
	if err := cmp.Or(err, b.Validate()); err != nil {
		return nil, err
	}
	endpoint, _ := url.Parse(cmp.Or(b.Endpoint, amazon)) // Validate has parsed it
	var keys *credentials.Credentials
	if b.AccessKey != "" {
		keys = credentials.NewStaticV4(b.AccessKey, b.SecretKey, "")
	} else {
		keys = credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{},
			&credentials.FileAWSCredentials{}, &credentials.IAM{Client: &http.Client{Timeout: answerTime}}})
	}
	transport, err := minio.DefaultTransport(endpoint.Scheme == "https")
	if err != nil {
		return nil, err
	}
	transport.ResponseHeaderTimeout = answerTime
	client, err := minio.New(endpoint.Host, &minio.Options{Creds: keys, Secure: endpoint.Scheme == "https",
		Region: cmp.Or(b.Region, "us-east-1"), Transport: transport, MaxRetries: bucketTries})
	if err != nil {
		return nil, fmt.Errorf("the document store %s: %w", rawURL, err)
	}
	o := &bucket{core: minio.Core{Client: client}, name: name, prefix: prefix}
	switch b.Encryption {
	case "":
	case "AES256":
		o.encryption = encrypt.NewSSE()
	default:
		if o.encryption, err = encrypt.NewSSEKMS(b.Encryption, nil); err != nil {
			return nil, fmt.Errorf("encryption %q: %w", b.Encryption, err)
		}
	}
	return &Files{medium: o}, nil
}

// bucket is the medium in a bucket of an object storage that speaks S3.
type bucket struct {
	core         minio.Core
	name, prefix string
	encryption   encrypt.ServerSide // nil: the server's default
}

func (b *bucket) key(name string) string { return b.prefix + name[:fanOut] + "/" + name }

// said translates an answer of the server: a missing file is fs.ErrNotExist, a used up quota ErrFull.
func (b *bucket) said(err error) error {
	if err == nil {
		return nil
	}
	switch answer := minio.ToErrorResponse(err); {
	case answer.Code == minio.NoSuchKey:
		return fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	case answer.StatusCode == http.StatusInsufficientStorage, strings.Contains(answer.Code, "Quota"),
		answer.Code == "XMinioStorageFull":
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}

func (b *bucket) options() minio.PutObjectOptions {
	return minio.PutObjectOptions{ContentType: "application/octet-stream", PartSize: partSize, NumThreads: 1,
		ServerSideEncryption: b.encryption, SendContentMd5: true}
}

func (b *bucket) prepare() error {
	if err := b.check(); err != nil {
		return fmt.Errorf("the document store can't be used; look whether the bucket is there, and give the gateway the "+
			"right to list, read, write and delete there: %w", err)
	}
	return nil
}

// check writes a file and removes it.
func (b *bucket) check() error {
	ctx, cancel := context.WithTimeout(context.Background(), bucketTime)
	defer cancel()
	key := b.prefix + "probe-" + newName()
	_, err := b.core.Client.PutObject(ctx, b.name, key, bytes.NewReader(probed), int64(len(probed)), b.options())
	if err == nil {
		err = b.core.RemoveObject(ctx, b.name, key, minio.RemoveObjectOptions{})
	}
	if err != nil {
		return fmt.Errorf("the document store s3://%s/%s can't be written: %w", b.name, b.prefix, b.said(err))
	}
	return nil
}

func (*bucket) free() (int64, error) { return 0, errors.ErrUnsupported }

func (*bucket) temporaryFolder() string { return os.TempDir() }

func (b *bucket) remove(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), bucketTime)
	defer cancel()
	// What a process left that was killed in the middle of an upload takes space until it is removed.
	if err := b.core.RemoveIncompleteUpload(ctx, b.name, b.key(name)); b.said(err) != nil && !errors.Is(b.said(err), fs.ErrNotExist) {
		return b.said(err)
	}
	return ignoreNotExist(b.said(b.core.RemoveObject(ctx, b.name, b.key(name), minio.RemoveObjectOptions{})))
}

// bucketDraft is a local file without a name, as it will be in the bucket: an upload takes no memory but for its
// buffers, and a part that fails is sent again.
type bucketDraft struct {
	*os.File
	bucket *bucket
	key    string
}

func (b *bucket) create(name string) (draft, error) {
	file, err := os.CreateTemp("", scratchPrefix+"*"+temporarySuffix)
	if err != nil {
		return nil, fmt.Errorf("making a temporary file: %w", full(err))
	}
	if err := remove(file.Name()); err != nil {
		file.Close()
		return nil, fmt.Errorf("removing the name of a temporary file: %w", err)
	}
	return &bucketDraft{file, b, b.key(name)}, nil
}

// keep uploads the file. The server compares each part with its MD5.
func (d *bucketDraft) keep(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, keepTime)
	defer cancel()
	size, err := d.Seek(0, io.SeekEnd)
	if err == nil {
		content := io.NewSectionReader(d.File, 0, size)
		_, err = d.bucket.core.Client.PutObject(ctx, d.bucket.name, d.key, content, size, d.bucket.options())
	}
	if err != nil {
		return fmt.Errorf("uploading a document: %w", d.bucket.said(err))
	}
	return nil
}

func (d *bucketDraft) discard() { _ = d.Close() }

func (b *bucket) open(name string) (opened, int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), bucketTime)
	defer cancel()
	info, err := b.core.StatObject(ctx, b.name, b.key(name), minio.StatObjectOptions{})
	if err != nil {
		return nil, 0, b.said(err)
	}
	return &object{bucket: b, key: b.key(name), size: info.Size, at: -1}, info.Size, nil
}

// object reads a file of a bucket by requests for ranges, and keeps the range that it read last. So a download that is
// slow holds no connection to the server, and one that breaks off is continued.
type object struct {
	bucket *bucket
	key    string
	size   int64

	mu   sync.Mutex
	at   int64 // of the range; -1: none was read
	part []byte
}

// ReadAt implements io.ReaderAt.
func (o *object) ReadAt(p []byte, off int64) (n int, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for n < len(p) {
		if off >= o.size {
			return n, io.EOF
		}
		if at := off - off%rangeSize; at != o.at {
			if err := o.read(at); err != nil {
				return n, fmt.Errorf("reading a document: %w", o.bucket.said(err))
			}
		}
		copied := copy(p[n:], o.part[off-o.at:])
		n, off = n+copied, off+int64(copied)
	}
	return n, nil
}

// read reads the range that begins at an offset. Its connection may break off: it is asked for again then.
func (o *object) read(at int64) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), bucketTime)
	defer cancel()
	part := make([]byte, min(rangeSize, o.size-at))
	var options minio.GetObjectOptions
	if err := options.SetRange(at, at+int64(len(part))-1); err != nil {
		return err
	}
	for range bucketTries {
		var body io.ReadCloser
		if body, _, _, err = o.bucket.core.GetObject(ctx, o.bucket.name, o.key, options); err != nil {
			return err // it was retried
		}
		_, err = io.ReadFull(body, part)
		body.Close()
		if err == nil {
			o.at, o.part = at, part
			return nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return err
}

// Close implements io.Closer.
func (o *object) Close() error { return nil }
