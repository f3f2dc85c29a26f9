import http from 'node:http';
import type { AddressInfo } from 'node:net';

/** Serves pages as they are, at `/0`, `/1` and so on. */
export async function servePlain(pages: readonly string[]): Promise<{ url: string; close(): void }> {
  const server = http.createServer((request, response) => {
    const page = pages[Number(request.url?.slice(1))];
    response.writeHead(page === undefined ? 404 : 200, { 'content-type': 'text/html; charset=utf-8' });
    response.end(page);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
