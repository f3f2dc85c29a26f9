import { escapeHtml } from '../../../protocol/safe-html/index.ts';
import { framePolicy } from './headers.ts';

/**
 * The frame around the email's HTML, which cannot do anything. An empty `sandbox` takes away scripts, forms, popups,
 * the page's origin and every way to leave the frame. `srcdoc` rather than a URL of its own, because a URL could be
 * opened without the frame around it. The policy is repeated inside, in case a browser does not pass it on to the
 * frame.
 */
export function frameStart(withRemoteImages: boolean): string {
  const policy = `<meta http-equiv="Content-Security-Policy" content="${framePolicy(withRemoteImages)}">`;
  const head = `<!doctype html><meta charset="utf-8">${policy}<style>${frameStyle}</style>`;
  return `<iframe title="Content of the email" sandbox="" referrerpolicy="no-referrer" credentialless srcdoc="${escapeHtml(head)}`;
}

export const FRAME_END = '"></iframe>';

// Elements that `disarmHtml` renamed, or that show nothing of their own in an email, are hidden.
const NOT_SHOWN = 'applet audio iframe math noembed noframes object script svg template video'.split(' ');

const frameStyle = `:root{color-scheme:light;color:#111}
body{font:16px/1.5 system-ui,sans-serif;overflow-wrap:break-word}img{max-width:100%}
a[data-href]{color:#0b57d0;text-decoration:underline;cursor:text}
${NOT_SHOWN.map((name) => `x-${name}`).join(',')}{display:none}`;
