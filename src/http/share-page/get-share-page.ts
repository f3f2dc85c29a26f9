import { notFound, refuse } from '../../platform/refusal/index.ts';
import { readSharedContent, readSharedEmail } from '../../resources/shares/index.ts';
import type { PublicPage } from '../page.ts';
import { sharePageHeaders } from './headers.ts';
import { renderBusyPage, renderNoSharePage } from './no-share-page.ts';
import { renderEmail } from './rendered-email.ts';
import { renderedOnce } from './rendered-emails.ts';
import { renderSharePage } from './share-page.ts';

export const getSharePage: PublicPage<'getSharePage'> = async (
  { services: { world }, reply, accept },
  { path, query },
) => {
  const withRemoteImages = query?.images === '1';
  reply.headers(sharePageHeaders(withRemoteImages));
  const email = await readSharedEmail(world, path.token);
  // People follow links, so that they get a page; a program gets the error it gets everywhere.
  const isPerson = /\btext\/html\b/i.test(accept);
  if (!email) {
    if (!isPerson) throw notFound('Share link');
    reply.code(404).type('text/html; charset=utf-8');
    return renderNoSharePage();
  }
  const rendering = renderedOnce(world, email, async () => renderEmail(await readSharedContent(world, email)));
  if (!rendering) {
    if (!isPerson) throw refuse('service_unavailable', { say: TOO_MANY });
    reply.code(503).type('text/html; charset=utf-8');
    return renderBusyPage();
  }
  const content = await rendering;
  reply.type('text/html; charset=utf-8');
  return renderSharePage({ email, content, withRemoteImages });
};

const TOO_MANY = 'Too many shared emails are being opened just now; try again in a few seconds.';
