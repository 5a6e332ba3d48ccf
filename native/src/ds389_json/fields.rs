//! The fields of objects, by the server's names.

use super::value::Value;

macro_rules! fields {
    ($($field:ident $name:literal)*) => {
        /// The fields that are used.
        #[derive(Default)]
        pub struct Fields<'a> {
            $(pub $field: Value<'a>,)*
        }

        impl<'a> Fields<'a> {
            /// The field with this name.
            pub fn named(&mut self, name: &[u8]) -> Option<&mut Value<'a>> {
                match name {
                    $($name => Some(&mut self.$field),)*
                    _ => None,
                }
            }
        }
    };
}

fields! {
    base_dn b"base_dn"
    bind_dn b"bind_dn"
    cipher b"cipher"
    client_dn b"client_dn"
    client_ip b"client_ip"
    close_error b"close_error"
    close_reason b"close_reason"
    conn_id b"conn_id"
    err b"err"
    etime b"etime"
    filter b"filter"
    haproxy_ip b"haproxy_ip"
    header b"header"
    internal_op b"internal_op"
    keysize b"keysize"
    local_time b"local_time"
    mech b"mech"
    method b"method"
    nentries b"nentries"
    notes b"notes"
    oid b"oid"
    op_id b"op_id"
    op_internal_id b"op_internal_id"
    operation b"operation"
    optime b"optime"
    pr_cookie b"pr_cookie"
    pr_idx b"pr_idx"
    scope b"scope"
    server_ip b"server_ip"
    sort_attrs b"sort_attrs"
    stat_attr b"stat_attr"
    stat_count b"stat_count"
    stat_key b"stat_key"
    tag b"tag"
    target_dn b"target_dn"
    target_op b"target_op"
    tls b"tls"
    tls_version b"tls_version"
    vlv_response b"vlv_response"
    wbusy b"wbusy"
    wmax b"wmax"
    wqdepth b"wqdepth"
    wqtime b"wqtime"
    wtime b"wtime"
}
