package main

import (
	"crypto/x509"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// Where the system has no certificates of CAs, those in the binary serve. It is a process of its own, because Go looks
// once.
func TestCertificatesOfCAs(t *testing.T) {
	const variable = "HIREGATE_TEST_WITHOUT_CERTIFICATES"
	if os.Getenv(variable) == "" {
		again := exec.Command(os.Args[0], "-test.run=^TestCertificatesOfCAs$")
		again.Env = append(os.Environ(), variable+"=1", "SSL_CERT_FILE=/nowhere", "SSL_CERT_DIR=/nowhere")
		out, err := again.CombinedOutput()
		require.NoError(t, err, string(out))
		return
	}
	now := time.Now()
	verified := 0
	for root := range bundle.Roots() {
		ca, err := x509.ParseCertificate(root.Certificate)
		require.NoError(t, err)
		if root.Constraint != nil || now.After(ca.NotAfter) {
			continue
		}
		_, err = ca.Verify(x509.VerifyOptions{CurrentTime: now}) // by the roots that Go takes by itself
		require.NoError(t, err, ca.Subject)
		verified++
	}
	require.Greater(t, verified, 50)
}

func TestZone(t *testing.T) {
	was := time.Local
	defer func() { time.Local = was }()
	t.Setenv("TZ", "Asia/Tokyo")
	useZone()
	_, offset := time.Unix(0, 0).Zone()
	require.Equal(t, 9*60*60, offset)
	for _, unknown := range []string{"", "Nowhere/Land", "/etc/localtime"} {
		t.Setenv("TZ", unknown)
		useZone()
		require.Equal(t, "Asia/Tokyo", time.Local.String(), "TZ=%s", unknown)
	}
}
