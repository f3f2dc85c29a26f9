// Command submit submits one message with an attachment, and one each to as many recipients as the arguments after the first say.
package main

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/smtp"
	"os"
	"strconv"
	"strings"
)

var settings struct {
	Port    int    `json:"port"`
	TlsPort int    `json:"tls_port"`
	Key     string `json:"key"`
	From    string `json:"from"`
}

var trustAny = &tls.Config{InsecureSkipVerify: true}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func send(client *smtp.Client, recipients []string, message string) {
	must(client.Mail(settings.From))
	for _, recipient := range recipients {
		must(client.Rcpt(recipient))
	}
	writer, err := client.Data()
	must(err)
	_, err = writer.Write([]byte(strings.ReplaceAll(message, "\n", "\r\n")))
	must(err)
	must(writer.Close())
}

func makeMessage(subject string) string {
	return fmt.Sprintf("From: %s\nTo: undisclosed-recipients:;\nSubject: %s\n\nHello\n", settings.From, subject)
}

func main() {
	must(json.Unmarshal([]byte(os.Args[1]), &settings))
	auth := smtp.PlainAuth("", "resend", settings.Key, "127.0.0.1")
	client, err := smtp.Dial(fmt.Sprintf("127.0.0.1:%d", settings.Port))
	must(err)
	must(client.StartTLS(trustAny))
	must(client.Auth(auth))
	send(client, []string{"x@example.net", "b@example.net"}, "From: "+settings.From+`
To: x@example.net
Subject: one file
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=b

--b
Content-Type: text/plain

Hello
--b
Content-Type: application/octet-stream
Content-Disposition: attachment; filename=file.bin
Content-Transfer-Encoding: base64

YSBmaWxl
--b--
`)
	for _, word := range os.Args[2:] {
		count, err := strconv.Atoi(word)
		must(err)
		recipients := []string{}
		for n := 0; n < count; n++ {
			recipients = append(recipients, fmt.Sprintf("r%d@example.net", n))
		}
		send(client, recipients, makeMessage("to "+word))
	}
	must(client.Quit())

	connection, err := tls.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", settings.TlsPort), trustAny)
	must(err)
	over, err := smtp.NewClient(connection, "127.0.0.1")
	must(err)
	must(over.Auth(auth))
	send(over, []string{"x@example.net"}, makeMessage("over TLS"))
	must(over.Quit())
}
