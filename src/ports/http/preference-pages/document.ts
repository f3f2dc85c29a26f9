import { bdi, formStyle, renderDocument, sourceOf } from '../layout/index.ts';
import { privatePageHeaders } from '../private-page-headers.ts';

/** `form-action` allows the page's own host alone, so a scanner that follows a form goes nowhere else. */
export const preferencePageHeaders = {
  ...privatePageHeaders(`default-src 'none'; style-src ${sourceOf(formStyle)}; base-uri 'none'; form-action 'self'`),
  'content-type': 'text/html; charset=utf-8',
};

/** `main` and `footer` are HTML already. */
export const renderPage = (title: string, main: string, footer = ''): string =>
  renderDocument(
    title,
    `<main><h1>${bdi(title)}</h1>
${main}</main>${footer === '' ? '' : `\n<footer>${footer}</footer>`}`,
    formStyle,
  );
