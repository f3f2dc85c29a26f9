// A web server that only has files, as any host of a release: serve-folder.ts FOLDER PORT
import { createReadStream, statSync } from 'node:fs';
import http from 'node:http';
import path from 'node:path';

const [folder = '', port = ''] = process.argv.slice(2);

http
  .createServer((request, response) => {
    const file = path.join(folder, decodeURIComponent(new URL(request.url ?? '', 'http://localhost').pathname));
    const size = statSync(file, { throwIfNoEntry: false })?.size;
    if (size === undefined) return void response.writeHead(404).end();
    response.writeHead(200, { 'content-length': size });
    createReadStream(file).pipe(response);
  })
  .listen(Number(port), '127.0.0.1');
