//go:build !cgo

// What takes long to build: not for the variant with C.
package main

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/json"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

func init() {
	works["http"] = serve
	works["crypto"] = encrypt
}

func serve() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var v map[string]interface{}
		body, _ := io.ReadAll(r.Body)
		json.Unmarshal(body, &v)
		json.NewEncoder(w).Encode(v)
	}))
	defer server.Close()
	var all sync.WaitGroup
	for i := 0; i < 4; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for running() {
				r, err := http.Post(server.URL, "application/json", strings.NewReader(`{"a":[1,2,3],"b":{"c":"d"}}`))
				if err == nil {
					io.Copy(io.Discard, r.Body)
					r.Body.Close()
				}
			}
		}()
	}
	all.Wait()
}

// Hand-written assembly, with and without frames.
func encrypt() {
	data := make([]byte, 64<<10)
	block, _ := aes.NewCipher(data[:16])
	seal, _ := cipher.NewGCM(block)
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	table := crc32.MakeTable(crc32.Castagnoli)
	for running() {
		sha1.Sum(data)
		sha512.Sum512(data)
		crc32.Checksum(data, table)
		seal.Seal(nil, data[:12], data, nil)
		digest := sha256.Sum256(data)
		r, s, _ := ecdsa.Sign(rand.Reader, key, digest[:])
		ecdsa.Verify(&key.PublicKey, digest[:], r, s)
		bytes.Index(data, []byte("needle"))
	}
}
