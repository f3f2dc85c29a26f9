import type { FastifyReply } from 'fastify';
import { bdi, formStyle, renderDocument, sourceOf } from '../layout/index.ts';
import { privatePageHeaders } from '../private-page-headers.ts';

const POLICY = `default-src 'none'; style-src ${sourceOf(formStyle)}; base-uri 'none'; form-action 'none'`;

/** For a person whom an app has sent here with something that leads nowhere. */
export const refusedPage = (reply: FastifyReply, say: string, status = 400): FastifyReply =>
  reply
    .code(status)
    .headers(privatePageHeaders(POLICY))
    .type('text/html; charset=utf-8')
    .send(
      renderDocument(
        'This app cannot be let in – rasket',
        `<main><h1>This app cannot be let in</h1>\n<p>${bdi(say)}</p>\n<p>Nothing was allowed. You can close this page; the app’s developer has to mend this.</p></main>`,
        formStyle,
      ),
    );
