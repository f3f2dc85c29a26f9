/** QR codes (ISO/IEC 18004) as pictures in a page. The picture holds squares alone, nothing of the text itself. */
export { qrSvg } from './qr-svg.ts';
