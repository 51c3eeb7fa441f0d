package documents

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/encrypt"

	"github.com/hiregate/hiregate/internal/platform"
)

const (
	partSize    = 5 << 20                // bytes of a part of an upload, the least that S3 takes
	rangeSize   = 1 << 20                // bytes of one request when a file is read
	bucketTries = 4                      // of each request, or of a whole upload
	bucketPause = 200 * time.Millisecond // at most, before the second try; it doubles with each
	requestTime = 30 * time.Second       // of a request, with its tries
	uploadTime  = 5 * time.Minute        // of an upload or a list, with its tries
	answerTime  = 15 * time.Second       // from the end of a request to the begin of its answer
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

// ErrAway says that the object storage did not answer, or answered that it can't now: the same may succeed later.
var ErrAway = errors.New("the object storage is away")

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
		Region: cmp.Or(b.Region, "us-east-1"), Transport: transport, MaxRetries: 1})
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

// translate marks a missing file as fs.ErrNotExist, and a used up quota as ErrFull.
func translate(err error) error {
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

// try makes a request until it succeeds or can't, at most bucketTries times and as long as a limit. minio-go does not
// retry: it would rewind a body that the connection of the try before may still be sending.
func (b *bucket) try(ctx context.Context, limit time.Duration, request func(context.Context) error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for n := range bucketTries {
		err = request(ctx)
		if status := minio.ToErrorResponse(err).StatusCode; err == nil || ctx.Err() != nil || final(status) {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(rand.N(bucketPause << n)):
		}
	}
	if away(err) {
		return fmt.Errorf("%w: %w", ErrAway, err)
	}
	return translate(err)
}

// away reports whether an error of a request is that the server did not answer, or could not answer now. A certificate
// that we don't trust stays one.
func away(err error) bool {
	if err == nil || errors.As(err, new(*tls.CertificateVerificationError)) || errors.As(err, new(tls.RecordHeaderError)) {
		return false
	}
	status := minio.ToErrorResponse(err).StatusCode
	return status == 0 || status >= http.StatusInternalServerError && !final(status)
}

// final reports whether an answer of the server stays as it is, whoever asks again.
func final(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false
	case http.StatusInsufficientStorage:
		return true
	}
	return status >= 400 && status < 500
}

func (b *bucket) options() minio.PutObjectOptions {
	return minio.PutObjectOptions{ContentType: "application/octet-stream", PartSize: partSize, NumThreads: 1,
		ServerSideEncryption: b.encryption, SendContentMd5: true}
}

func (b *bucket) prepare() error {
	err := b.check()
	if limit := platform.FilesExhausted(err); limit != "" {
		return fmt.Errorf("the document store can't be used: %s: %w", limit, err)
	}
	if err != nil {
		return fmt.Errorf("the document store can't be used; look whether the bucket is there, give the gateway the right "+
			"to list, read, write and delete in it, and name a folder that it can write to in TMPDIR: %w", err)
	}
	return nil
}

// check stores a file, reads it and removes it, so that a missing right is noticed at the start.
func (b *bucket) check() error {
	name := newName()
	err := b.store(name, probed)
	if err == nil {
		var file opened
		if file, _, err = b.open(name); err == nil {
			_, err = file.ReadAt(make([]byte, 1), 0)
		}
		err = cmp.Or(err, b.remove(name))
	}
	if err != nil {
		return fmt.Errorf("the document store s3://%s/%s can't be written: %w", b.name, b.prefix, err)
	}
	return nil
}

func (b *bucket) store(name string, content []byte) error {
	file, err := b.create(name)
	if err != nil {
		return err
	}
	defer file.discard()
	if _, err := file.Write(content); err != nil {
		return full(err)
	}
	return file.keep(context.Background())
}

func (*bucket) free() (int64, error) { return 0, errors.ErrUnsupported }

func (*bucket) temporaryFolder() string { return os.TempDir() }

func (b *bucket) list(ctx context.Context, begin string) (files map[string]int64, err error) {
	err = b.try(ctx, uploadTime, func(ctx context.Context) error {
		files = map[string]int64{}
		for object := range b.core.ListObjectsIter(ctx, b.name, minio.ListObjectsOptions{Prefix: b.prefix + begin, Recursive: true}) {
			if object.Err != nil {
				return object.Err
			}
			if name := path.Base(object.Key); validName(name) == nil && object.Key == b.key(name) {
				files[name] = object.Size
			}
		}
		return nil
	})
	return files, err
}

func (b *bucket) remove(name string) error {
	// What a process left that was killed in the middle of an upload takes space until it is removed.
	err := b.try(context.Background(), requestTime, func(ctx context.Context) error {
		return b.core.RemoveIncompleteUpload(ctx, b.name, b.key(name))
	})
	if ignoreNotExist(err) != nil {
		return err
	}
	return ignoreNotExist(b.try(context.Background(), requestTime, func(ctx context.Context) error {
		return b.core.RemoveObject(ctx, b.name, b.key(name), minio.RemoveObjectOptions{})
	}))
}

// bucketDraft is a local file without a name, as it will be in the bucket: an upload takes no memory but for its
// buffers, and one that fails begins again.
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
	size, err := d.Seek(0, io.SeekEnd)
	if err == nil {
		err = d.bucket.try(ctx, uploadTime, func(ctx context.Context) error {
			content := io.NewSectionReader(d.File, 0, size) // one for each try: the one before may still be read
			_, err := d.bucket.core.Client.PutObject(ctx, d.bucket.name, d.key, content, size, d.bucket.options())
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("uploading a document: %w", err)
	}
	return nil
}

func (d *bucketDraft) discard() { _ = d.Close() }

func (b *bucket) open(name string) (opened, int64, error) {
	var info minio.ObjectInfo
	err := b.try(context.Background(), requestTime, func(ctx context.Context) (err error) {
		info, err = b.core.StatObject(ctx, b.name, b.key(name), minio.StatObjectOptions{})
		return err
	})
	if err != nil {
		return nil, 0, err
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
				return n, fmt.Errorf("reading a document: %w", err)
			}
		}
		copied := copy(p[n:], o.part[off-o.at:])
		n, off = n+copied, off+int64(copied)
	}
	return n, nil
}

// read reads the range that begins at an offset.
func (o *object) read(at int64) error {
	part := make([]byte, min(rangeSize, o.size-at))
	var options minio.GetObjectOptions
	if err := options.SetRange(at, at+int64(len(part))-1); err != nil {
		return err
	}
	err := o.bucket.try(context.Background(), requestTime, func(ctx context.Context) error {
		body, _, _, err := o.bucket.core.GetObject(ctx, o.bucket.name, o.key, options)
		if err != nil {
			return err
		}
		defer body.Close()
		_, err = io.ReadFull(body, part)
		return err
	})
	if err == nil {
		o.at, o.part = at, part
	}
	return err
}

// Close implements io.Closer.
func (o *object) Close() error { return nil }
