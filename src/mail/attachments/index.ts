/**
 * The attachments of sent emails: their list, and links that download the files for fifteen minutes without a key.
 * Whatever is wrong with a link, the response is the same 404. Accept writes the files; they are read here.
 */
export { downloadAttachment, type Download, getAttachment, listAttachments } from './attachments.ts';
