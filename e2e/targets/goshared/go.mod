module goshared

go 1.18
