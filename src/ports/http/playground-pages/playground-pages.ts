import type { IncomingMessage, ServerResponse } from 'node:http';
import { CAPTURED_LIMITS, checkCaptured, listCaptured, readCaptured } from '../../../mail/capture/index.ts';
import type { World } from '../../../platform/world/index.ts';
import { readMessage, textOfHtml } from '../../../protocol/read-message/index.ts';
import { imageDataUrl } from '../../../protocol/safe-html/index.ts';
import { emailRowsByIds } from '../../../mail/emails/index.ts';
import { mayUsePlayground } from '../playground-access.ts';
import { renderEmail, sharePageHeaders } from '../share-page/index.ts';
import { renderInbox, renderMessage, renderNotHere, renderTrouble } from './render.ts';

const FORM = /^\/playground(?:\/([0-9a-f-]{36}))?\/?(?:\?(.*))?$/;
const PAGE = 50;

interface Answer {
  status: number;
  html: Buffer | string;
}

/**
 * Answers the pages; returns false to leave a request to the API, as always outside the development profile, where mail that
 * is captured is that of many people.
 */
export function createPlaygroundPages(world: World): (request: IncomingMessage, response: ServerResponse) => boolean {
  if (world.config.profile !== 'development') return () => false;
  return (request, response) => {
    const [whole, id, query = ''] = FORM.exec(request.url ?? '') ?? [];
    if (whole === undefined || !['GET', 'HEAD'].includes(request.method ?? '')) return false;
    if (!mayUsePlayground(world, request.headers.host)) return false;
    const parameters = new URLSearchParams(query);
    const withRemoteImages = parameters.get('images') === '1';
    const answer = id === undefined ? showInbox(parameters.get('before')) : showMessage(id, withRemoteImages);
    void answer
      .catch((error: unknown): Answer => {
        world.log.error({ err: error }, 'a page of the playground failed');
        return { status: 500, html: renderTrouble() };
      })
      .then(({ status, html }) => {
        const bytes = Buffer.from(html);
        const headers = { 'content-type': 'text/html; charset=utf-8', 'content-length': bytes.length };
        response.writeHead(status, { ...sharePageHeaders(withRemoteImages), ...headers });
        response.end(request.method === 'HEAD' ? undefined : bytes);
      });
    return true;
  };

  async function showInbox(before: string | null): Promise<Answer> {
    const beforeId = before !== null && /^[0-9a-f-]{36}$/.test(before) ? before : undefined;
    const rows = await listCaptured(world.db, PAGE + 1, beforeId);
    const shown = rows.slice(0, PAGE);
    const emails = await emailRowsByIds(world.db, [...new Set(shown.map((row) => row.email_id))]);
    const states = new Map(emails.map((email) => [email.id, email.last_event]));
    const next = rows.length > PAGE ? shown.at(-1)?.id : undefined;
    return { status: 200, html: renderInbox(shown, states, { next, isFirst: beforeId === undefined }) };
  }

  async function showMessage(id: string, withRemoteImages: boolean): Promise<Answer> {
    const caught = await readCaptured(world.db, world.blobs, id);
    if (!caught) return { status: 404, html: renderNotHere() };
    const { row, message } = caught;
    const reading = await readMessage(message, CAPTURED_LIMITS);
    const checks = await checkCaptured(world, row, message);
    const { html, text, parts } = reading.isRead ? reading : { html: null, text: null, parts: [] };
    const images = new Map<string, string>();
    for (const { contentId, contentType, content } of parts) {
      const url = contentId === undefined ? undefined : imageDataUrl(contentType, Buffer.from(content));
      if (contentId !== undefined && url !== undefined) images.set(contentId, url);
    }
    const isTextThere = text !== null && text.trim() !== '';
    const shownText = isTextThere ? text : html === null ? text : textOfHtml(html);
    const content = await renderEmail({ html, text: shownText, images });
    const [email] = await emailRowsByIds(world.db, [row.email_id]);
    const state = email?.last_event;
    return { status: 200, html: renderMessage({ row, message, reading, checks, content, withRemoteImages, state }) };
  }
}
