# frozen_string_literal: true

# Reports calls of the Ruby client. The client is the unmodified source in SDK_SOURCES; everything else comes from the environment
# (see test/clients/README.md).
require "json"
require "net/http"

SOURCES = File.realpath(ENV.fetch("SDK_SOURCES"))
$LOAD_PATH.unshift(File.join(SOURCES, "lib"))

FIXTURES = JSON.parse(ENV.fetch("CLIENT_FIXTURES"))
DELIVERY = JSON.parse(ENV.fetch("CLIENT_DELIVERY"))
DOMAIN = FIXTURES.fetch("domain")
CALLED = []

def notify(path, body)
  Net::HTTP.post(URI(ENV.fetch("CLIENT_PROXY") + path), JSON.generate(body))
end

def report(name, file, refused: nil, reads: [])
  notify("/-/begin", { name: name, file: file, refused: refused }.compact)
  begin
    result = yield
  rescue StandardError => e
    notify("/-/end", { error: "#{e.class}: #{e.message}" })
    return nil
  end
  notify("/-/end", { reads: reads })
  result
end

# Calls one method of a module of the client; returns its result, or nil where the call fails.
def call(family, method, *args, refused: nil, reads: [], **options)
  implementation = family.method(method)
  CALLED << [family, method]
  file = File.realpath(implementation.source_location.first).delete_prefix("#{SOURCES}/")
  report("#{family.name.delete_prefix("Resend::")}.#{method}", file, refused: refused, reads: reads) do
    options.empty? ? implementation.call(*args) : implementation.call(*args, **options)
  end
end

def message(more = {})
  { from: "Acme <me@#{DOMAIN}>", to: ["x@example.org"], subject: "Hello", text: "It works." }.merge(more)
end
