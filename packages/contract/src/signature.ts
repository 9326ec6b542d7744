/** `Service-Signature: t=<unix seconds>,v1=<hex HMAC-SHA256 of "t.body">[,v1=…]` */
export const SIGNATURE_HEADER = 'Service-Signature'
export const SIGNATURE_TOLERANCE_S = 300
export const SECRET_PREFIX = 'whsec_'
